//! Addresses in the one form in which they are judged, shown and requested. Pure.
//!
//! Two spellings of one address must not be two actions: a deny of `https://a.example/x` holds for `https://A.example.:443/%78#y`.

use reqwest::Url;

use super::WebError;

/// Most bytes of an address: few servers accept more.
pub(super) const LONGEST: usize = 8 * 1024;

/// Reads `text` as an address.
///
/// # Errors
///
/// Fails if it is invalid, or too long.
pub(in crate::tools) fn requested(text: &str) -> Result<Url, WebError> {
    if text.len() > LONGEST {
        return Err(WebError::Long);
    }
    Url::parse(text)
        .map_err(WebError::NoAddress)
        .and_then(normal)
}

/// Reads `target`, the answer of `from`, as the next address.
///
/// # Errors
///
/// Fails if it is invalid, or too long.
pub(super) fn redirected(from: &Url, target: &str) -> Result<Url, WebError> {
    if target.len() > LONGEST {
        return Err(WebError::Long);
    }
    let next = from.join(target);
    next.map_err(|_| WebError::NoTarget(from.clone()))
        .and_then(normal)
}

/// Returns the address without the parts that no server sees (a fragment) and without spellings that mean the same.
/// `Url` has already normalised the case, the port and the letters of the host.
fn normal(mut url: Url) -> Result<Url, WebError> {
    if matches!(url.scheme(), "http" | "https") {
        url.set_fragment(None);
        let host = url.domain().and_then(|host| host.strip_suffix('.'));
        if let Some(host) = host.filter(|host| !host.is_empty()).map(str::to_owned) {
            url.set_host(Some(&host)).map_err(WebError::NoAddress)?;
        }
        let path = plain(url.path());
        url.set_path(&path);
        let query = url.query().map(plain);
        url.set_query(query.as_deref());
    }
    if url.as_str().len() > LONGEST {
        return Err(WebError::Long);
    }
    Ok(url)
}

/// Returns `text` without escapes of letters that need none (RFC 3986, 6.2.2), and with the others in capitals.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let code = after
            .get(..2)
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some((code, byte)) =
            code.and_then(|code| Some((code, u8::from_str_radix(code, 16).ok()?)))
        else {
            plain.push('%');
            rest = after;
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            plain.push(char::from(byte));
        } else {
            plain.push('%');
            plain.push_str(&code.to_ascii_uppercase());
        }
        rest = &after[2..];
    }
    plain.push_str(rest);
    plain
}
