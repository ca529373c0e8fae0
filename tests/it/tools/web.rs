//! `web_fetch`: which addresses are read, and what becomes of a page.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::IntoResponse;
use axum::routing::get;
use chorus::tools::{Interface, Web, is_near, is_public};
use insta::assert_snapshot;
use serde_json::json;

use super::lab::Lab;
use crate::not_run::{Missing, not_run};

/// A lab whose operator opened the one host that serves `pages`.
async fn lab_with(pages: Router) -> (Lab, SocketAddr) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, pages).await });
    let mut lab = Lab::new();
    let services = Arc::get_mut(&mut lab.context.services).unwrap();
    services.web = Web::new(vec![address.to_string()]).unwrap();
    (lab, address)
}

#[test]
fn only_addresses_of_the_public_internet_are_public() {
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00::1",
        "::ffff:8.8.8.8",
    ] {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
    for private in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.9.9.9",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2001:10::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(private.parse().unwrap()), "{private}");
    }
}

/// An interface's address with its prefix, such as `198.51.100.7/24`.
fn interface(written: &str, peer: Option<&str>) -> Interface {
    let (address, prefix) = written.split_once('/').unwrap();
    Interface {
        address: address.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
        peer: peer.map(|peer| peer.parse().unwrap()),
    }
}

#[test]
fn what_a_machine_and_its_neighbours_have_is_near_whatever_the_registries_say() {
    let near = |written: &str, peer: Option<&str>, address: &str| {
        is_near(address.parse().unwrap(), &[interface(written, peer)])
    };
    for (written, address, is) in [
        // The address itself, a neighbour, and the world.
        ("9.9.1.7/24", "9.9.1.7", true),
        ("9.9.1.7/24", "9.9.1.200", true),
        ("9.9.1.7/24", "9.9.2.7", false),
        ("9.9.1.7/24", "::ffff:9.9.1.9", true),
        ("9.9.1.7/32", "9.9.1.7", true),
        ("9.9.1.7/32", "9.9.1.8", false),
        // A virtual network of people's machines, and a tunnel that claims the internet.
        ("25.3.4.5/8", "25.200.1.1", true),
        ("9.9.1.7/0", "9.9.1.7", true),
        ("9.9.1.7/0", "9.9.1.8", false),
        ("9.9.1.7/1", "1.1.1.1", false),
        ("9.9.1.7/255", "9.9.1.7", true),
        ("9.9.1.7/255", "9.9.1.8", false),
        // An address by DHCP stands alone, its network is there all the same.
        ("2a00:1450:4001::5/64", "2a00:1450:4001::5", true),
        ("2a00:1450:4001::5/64", "2a00:1450:4001::99", true),
        ("2a00:1450:4001::5/128", "2a00:1450:4001::99", true),
        ("2a00:1450:4001::5/64", "2a00:1450:4001:1::5", false),
        ("2a00:1450:4001::5/48", "2a00:1450:4001:1::5", true),
        ("2a00:1450:4001::5/3", "2a00:1450:4001::99", true),
        ("2a00:1450:4001::5/3", "2606:4700::1111", false),
        ("2a00:1450:4001::5/0", "2606:4700::1111", false),
        // One family says nothing of the other.
        ("9.9.1.7/8", "2a00::1", false),
        ("2a00:1450:4001::5/32", "9.9.1.7", false),
    ] {
        assert_eq!(near(written, None, address), is, "{written} and {address}");
    }
    let peer = Some("7.7.7.7");
    assert!(near("9.9.1.7/32", peer, "7.7.7.7"));
    assert!(!near("9.9.1.7/32", peer, "7.7.7.8"));
    assert!(near("9.9.1.7/24", peer, "7.7.7.8"));
    assert!(near("fe80::1/64", Some("2a00::1"), "2a00::1"));
    assert!(!is_near("1.1.1.1".parse().unwrap(), &[]));
}

/// Set for the test that runs in a network of its own.
const INSIDE: &str = "CHORUS_TEST_IN_A_NETWORK";

/// Runs this test once more in a network that has nothing but loopback with `addresses`, and with names for them; false in
/// there.
fn is_outside(test: &str, addresses: &[&str], names: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let hosts = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&hosts, names).unwrap();
    let added: String = addresses
        .iter()
        .map(|address| format!("ip address add {address} dev lo\n"))
        .collect();
    let script = format!(
        "ip link set lo up\n{added}mount --bind {} /etc/hosts\nexec \"$0\" \"$@\"",
        hosts.path().display()
    );
    let make = |program: &std::path::Path| {
        let mut inside = Command::new("unshare");
        inside.args(["--user", "--map-root-user", "--net", "--mount", "sh", "-ec"]);
        inside.arg(&script).arg(program).env(INSIDE, "1");
        inside
    };
    let can = make("true".as_ref()).output();
    if !can.is_ok_and(|can| can.status.success()) {
        not_run(&Missing::Machine("no network namespace can be had here"));
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let inside = make(&program).args(["--exact", test]).output().unwrap();
    let said = String::from_utf8_lossy(&inside.stdout).into_owned();
    assert!(inside.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    true
}

/// A server of this machine's own: what it is asked is counted.
async fn own_pages(address: &str) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let page = get(move || async move {
        count.fetch_add(1, Ordering::SeqCst);
        "PRIVATE ADMIN PAGE"
    });
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let pages = Router::new().fallback(page);
    tokio::spawn(async move { axum::serve(listener, pages).await });
    asked
}

#[tokio::test]
async fn public_addresses_of_this_machine_and_its_network_are_not_read() {
    let test = "tools::web::public_addresses_of_this_machine_and_its_network_are_not_read";
    let addresses = ["198.41.0.4/24", "2a00:1450:4001::5/128", "9.9.9.9/32"];
    let names = "198.41.0.4 own.example\n2a00:1450:4001::5 own6.example\n\
                 198.41.0.200 neighbour.example\n198.41.0.4 both.example\n9.8.7.6 both.example\n";
    if is_outside(test, &addresses, names) {
        return;
    }
    let four = own_pages("198.41.0.4:8080").await;
    let six = own_pages("[2a00:1450:4001::5]:8443").await;
    let to_itself = get(|| async { (StatusCode::FOUND, [(LOCATION, "http://198.41.0.4:8080/")]) });
    let (lab, opened) = lab_with(Router::new().route("/in", to_itself)).await;
    for url in [
        "http://198.41.0.4:8080/",
        "http://198.41.4:8080/",
        "http://0xc6290004:8080/",
        "http://[::ffff:198.41.0.4]:8080/",
        "http://[2a00:1450:4001::5]:8443/",
        "http://[2a00:1450:4001:0:0::5]:8443/",
        // Neighbours, by the prefix; DHCP's 128 bits stand for a network.
        "http://198.41.0.200/",
        "http://[2a00:1450:4001::99]/",
        "http://9.9.9.9/",
        &format!("http://{opened}/in"),
    ] {
        let told = lab.refuses("web_fetch", json!({"url": url})).await;
        let why = "is not read: the address belongs to this machine or to its own network";
        assert!(told.ends_with(why), "{url}: {told}");
    }
    for url in [
        "http://own.example:8080/",
        "http://own6.example:8443/",
        "http://neighbour.example/",
    ] {
        let told = lab.refuses("web_fetch", json!({"url": url})).await;
        assert!(
            told.contains("leads to no public address, or only to this machine"),
            "{url}: {told}"
        );
    }
    // The world is not blocked: it only cannot be reached from here. Of two addresses the other one is asked.
    for url in [
        "http://9.9.9.10/",
        "http://198.41.1.4/",
        "http://both.example:8080/",
    ] {
        let told = lab.refuses("web_fetch", json!({"url": url})).await;
        assert!(told.contains("cannot be read: "), "{url}: {told}");
        assert!(!told.contains("this machine"), "{url}: {told}");
    }
    assert_eq!(four.load(Ordering::SeqCst) + six.load(Ordering::SeqCst), 0);
    // An address that comes later counts from then on, and one that goes no longer does.
    let ip = |change: &str| {
        let words = ["address", change, "9.9.9.10/32", "dev", "lo"];
        assert!(Command::new("ip").args(words).status().unwrap().success());
    };
    ip("add");
    let told = lab
        .refuses("web_fetch", json!({"url": "http://9.9.9.10/"}))
        .await;
    assert!(told.contains("belongs to this machine"), "{told}");
    ip("delete");
    let told = lab
        .refuses("web_fetch", json!({"url": "http://9.9.9.10/"}))
        .await;
    assert!(told.contains("cannot be read: "), "{told}");
    // A local route makes this machine answer for a network that no interface has.
    let words = ["route", "add", "local", "9.8.8.0/24", "dev", "lo"];
    assert!(Command::new("ip").args(words).status().unwrap().success());
    let routed = own_pages("9.8.8.7:8080").await;
    for url in ["http://9.8.8.7:8080/", "http://9.8.8.200/"] {
        let told = lab.refuses("web_fetch", json!({"url": url})).await;
        assert!(told.contains("belongs to this machine"), "{url}: {told}");
    }
    assert_eq!(routed.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_read() {
    let lab = Lab::new();
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://10.0.0.1/",
        "http://192.168.0.1:8080/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://localhost/",
        "http://localhost:8443/",
        "http://localhost./",
    ] {
        let told = lab.refuses("web_fetch", json!({"url": url})).await;
        let is_refused = told.contains("not a public one")
            || told.contains("no public address")
            || told.contains("cannot be read");
        assert!(is_refused, "{url}: {told}");
    }
}

#[tokio::test]
async fn other_schemes_ports_and_credentials_are_refused() {
    let lab = Lab::new();
    let refuses = async |url: &str| lab.refuses("web_fetch", json!({"url": url})).await;
    assert_snapshot!(refuses("file:///etc/passwd").await, @"file:///etc/passwd is not read: only http and https are");
    assert_snapshot!(refuses("ftp://example.org/").await, @"ftp://example.org/ is not read: only http and https are");
    assert_snapshot!(refuses("http://ada:pw@example.org/").await, @"http://ada:pw@example.org/ is not read: it carries a user name or password");
    assert_snapshot!(refuses("http://1.1.1.1:22/").await, @"http://1.1.1.1:22/ is not read: only ports 80, 443, 8080 and 8443 are");
    assert_snapshot!(refuses("example.org").await, @"`url` is not an address: relative URL without a base");
}

#[tokio::test]
async fn a_page_is_read_as_text() {
    let page = "<html><head><title>T</title><script>evil()</script></head><body><h1>Head</h1><p>Some <b>bold</b> text.</p></body></html>";
    let pages = Router::new()
        .route(
            "/page",
            get(move || async move { ([(CONTENT_TYPE, "text/html; charset=utf-8")], page) }),
        )
        .route(
            "/latin",
            get(|| async {
                (
                    [(CONTENT_TYPE, "text/plain; charset=ISO-8859-1")],
                    b"caf\xe9".to_vec(),
                )
            }),
        )
        .route(
            "/zip",
            get(|| async { ([(CONTENT_TYPE, "application/zip")], "PK") }),
        )
        .route(
            "/on",
            get(|| async { (StatusCode::FOUND, [(LOCATION, "/page")]) }),
        )
        .route(
            "/round",
            get(|| async { (StatusCode::FOUND, [(LOCATION, "/round")]) }),
        )
        .route(
            "/in",
            get(|| async {
                (
                    StatusCode::FOUND,
                    [(LOCATION, "http://169.254.169.254/secret")],
                )
            }),
        )
        .route("/gone", get(|| async { StatusCode::GONE.into_response() }));
    let (lab, address) = lab_with(pages).await;
    let steady = |text: String| text.replace(&address.to_string(), "HOST");
    let reads = async |path: &str| {
        let url = format!("http://{address}{path}");
        steady(lab.call("web_fetch", json!({"url": url})).await.content)
    };
    assert_snapshot!(reads("/page").await, @"
    http://HOST/page

    # Head

    Some **bold** text.
    ");
    assert_snapshot!(reads("/on").await.lines().next().unwrap(), @"http://HOST/page");
    assert_snapshot!(reads("/latin").await.lines().last().unwrap(), @"café");
    assert_snapshot!(reads("/zip").await, @"http://HOST/zip is not text but application/zip; download it in the shell");
    assert_snapshot!(reads("/round").await, @"http://HOST/round redirects more than 5 times");
    assert_snapshot!(reads("/in").await, @"http://169.254.169.254/secret is not read: the address is not a public one");
    assert_snapshot!(reads("/gone").await, @"http://HOST/gone answers 410");
}

#[tokio::test]
async fn giant_and_tangled_pages_are_bounded() {
    let pages = Router::new()
        .route(
            "/giant",
            get(|| async { ([(CONTENT_TYPE, "text/plain")], "x".repeat(5 << 20)) }),
        )
        .route(
            "/deep",
            get(|| async {
                (
                    [(CONTENT_TYPE, "text/html")],
                    "<div></b>".repeat(200_000) + "bottom",
                )
            }),
        );
    let (lab, address) = lab_with(pages).await;
    let giant = lab
        .does(
            "web_fetch",
            json!({"url": format!("http://{address}/giant")}),
        )
        .await;
    assert!(giant.ends_with("[the page goes on after 2 MiB]"));
    let deep = lab
        .call(
            "web_fetch",
            json!({"url": format!("http://{address}/deep")}),
        )
        .await;
    assert!(deep.content.contains(&address.to_string()));
}

/// Answers each request by a redirect to `target`.
fn redirects(target: String) -> Router {
    Router::new().fallback(move || async move { (StatusCode::FOUND, [(LOCATION, target)]) })
}

/// Serves `pages`; gives their host.
async fn serves(pages: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, pages).await });
    host
}

/// What stands on the page to which others lead.
const THERE: &str = "the page of the other host";

#[tokio::test]
async fn each_redirect_is_judged_as_an_address_of_its_own() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let other = Router::new().fallback(move || async move {
        counted.fetch_add(1, Ordering::Relaxed);
        THERE
    });
    let other = serves(other).await;
    let second = serves(redirects(format!("http://{other}/%78?q=1#part"))).await;
    let first = serves(redirects(format!("http://{second}/on"))).await;
    let mut lab = Lab::new();
    let services = Arc::get_mut(&mut lab.context.services).unwrap();
    services.web = Web::new(vec![other.clone(), second.clone(), first.clone()]).unwrap();
    let url = json!({"url": format!("http://{first}/")});
    let pattern = |host: &str| format!("tool:web_fetch:http://{}/.*", host.replace('.', "\\."));
    let [to_first, to_second, to_other] = [pattern(&first), pattern(&second), pattern(&other)];
    let named = |text: String| {
        let text = text.replace(&other.replace('.', "\\."), "OTHER");
        let text = text.replace(&first, "FIRST").replace(&second, "SECOND");
        text.replace(&other, "OTHER")
    };

    lab.may(&[&to_first], &[".*"], &[]);
    assert_snapshot!(
        named(lab.refuses("web_fetch", url.clone()).await),
        @"http://FIRST/ redirects to http://SECOND/on; a person decides about that one: fetch that address if you need it"
    );
    lab.may(&[&to_first, &to_second], &[".*"], &[]);
    assert_snapshot!(
        named(lab.refuses("web_fetch", url.clone()).await),
        @"http://SECOND/on redirects to http://OTHER/x?q=1; a person decides about that one: fetch that address if you need it"
    );
    lab.may(&[".*"], &[], &[&to_other.replace("/.*", "/x.*")]);
    assert_snapshot!(
        named(lab.refuses("web_fetch", url.clone()).await),
        @r"http://SECOND/on redirects to http://OTHER/x?q=1, which is not permitted: denied by `tool:web_fetch:http://OTHER/x.*`"
    );
    lab.may(&[&to_first], &[], &[]);
    let told = lab.refuses("web_fetch", url.clone()).await;
    assert!(told.contains("which is not permitted"), "{told}");
    assert_eq!(asked.load(Ordering::Relaxed), 0, "the other host was asked");

    lab.may(&[&to_first, &to_second, &to_other], &[], &[]);
    let read = lab.does("web_fetch", url).await;
    assert!(read.contains(THERE), "{read}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn no_redirect_leads_to_what_is_never_read() {
    for (target, why) in [
        ("http://ada:pw@1.1.1.1/".to_owned(), "user name or password"),
        ("ftp://1.1.1.1/".to_owned(), "only http and https"),
        ("http://1.1.1.1:22/".to_owned(), "only ports"),
        ("http://[bad/".to_owned(), "redirects to no address"),
        (
            format!("http://1.1.1.1/{}", "x".repeat(9_000)),
            "longer than",
        ),
    ] {
        let (lab, address) = lab_with(redirects(target)).await;
        let url = json!({"url": format!("http://{address}/")});
        let told = lab.refuses("web_fetch", url).await;
        assert!(told.contains(why), "{told}");
    }
}

/// The address by which a fetch of `url` is judged.
fn judged(lab: &Lab, url: &str) -> String {
    let call = lab.prepare("web_fetch", json!({"url": url})).unwrap();
    call.action.detail
}

#[test]
fn spellings_of_one_address_are_judged_as_one() {
    let lab = Lab::new();
    for spelling in [
        "https://a.example/x?y=z",
        "HTTPS://A.EXAMPLE/x?y=z",
        "https://a.example:443/x?y=z",
        "https://a.example./x?y=z",
        "https://a.example/x?y=z#part",
        "https://a.example/x?y=z#",
        "https://a.example/%78?%79=%7A",
        "https://a.example/b/../x?y=z",
        "https://a.example/b/%2E%2e/x?y=z",
        "https:\\\\a.example\\x?y=z",
        "https://\u{ff41}.example/x?y=z",
        " https://a.exa\tmple/x?y=z\n",
    ] {
        assert_eq!(
            judged(&lab, spelling),
            "https://a.example/x?y=z",
            "{spelling}"
        );
    }
    for (written, requested) in [
        (
            "https://a.example/%2f%e4%25?%26",
            "https://a.example/%2F%E4%25?%26",
        ),
        ("https://a.example/%zz%4", "https://a.example/%zz%4"),
        (
            "http://b\u{fc}cher.example/",
            "http://xn--bcher-kva.example/",
        ),
        ("http://a.example:8080/", "http://a.example:8080/"),
    ] {
        assert_eq!(judged(&lab, written), requested);
    }
}

#[tokio::test]
async fn an_address_has_a_length() {
    let lab = Lab::new();
    for tail in [
        "x".repeat(8 << 10),
        // Each of them becomes nine bytes.
        "\u{20ac}".repeat(2 << 10),
    ] {
        let url = json!({"url": format!("https://a.example/{tail}")});
        let told = lab.refuses("web_fetch", url).await;
        assert_eq!(told, "the address is longer than 8192 bytes");
    }
}
