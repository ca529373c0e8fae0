//! Servers whose certificates come from an authority of one's own.

use std::fs;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::{command, program, seen};
use crate::world::run_test_with;

/// An authority, as a file of certificates has it, and a server with a certificate of it.
struct Authority {
    pem: String,
    server: Arc<ServerConfig>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = names.signed_by(&key, &authority).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let server = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Self {
            pem: authority.pem(),
            server: Arc::new(server),
        }
    }

    /// Serves what is at `address` by HTTPS, and returns where.
    async fn serves(&self, address: &str) -> String {
        let address = address.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(Arc::clone(&self.server));
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (acceptor, address) = (acceptor.clone(), address.clone());
                tokio::spawn(async move {
                    // A client that does not know the authority ends it.
                    let Ok(mut client) = acceptor.accept(client).await else {
                        return;
                    };
                    let mut server = TcpStream::connect(&address).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        format!("https://127.0.0.1:{port}")
    }
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_by_its_file() {
    run_test_with(program(Vec::new()), async |world| {
        world.model.lists(&["scripted-model"]);
        world.stops().await;
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        fs::write(&file, &authority.pem).unwrap();
        let discord = authority.serves(world.discord.base_url()).await;
        let model = authority.serves(world.model.base_url()).await;
        let doctor = || {
            let mut doctor = command(world, &["doctor"]);
            doctor
                .env("CHORUS_DISCORD_API_URL", &discord)
                .env("ANTHROPIC_BASE_URL", &model);
            doctor
        };
        let unknown = seen(&mut doctor()).await;
        assert_eq!(unknown.code, 78, "{}", unknown.out);
        assert!(unknown.out.contains("UnknownIssuer"), "{}", unknown.out);
        assert!(unknown.out.contains("SSL_CERT_FILE"), "{}", unknown.out);
        let known = seen(doctor().env("SSL_CERT_FILE", &file)).await;
        assert!(!known.out.contains("UnknownIssuer"), "{}", known.out);
        assert!(known.out.contains("anthropic: 1 model"), "{}", known.out);
    })
    .await;
}
