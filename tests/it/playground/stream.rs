//! The gateway's payloads as one compressed stream, as discord.py asks for them.

use std::io::Write;

use chorus_playground::{Discord, Options};
use flate2::write::ZlibDecoder;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn payloads_come_as_one_stream_to_whoever_asks_for_it() {
    let discord = Discord::start(Options::default()).await.unwrap();
    let socket = discord.base_url().replace("http", "ws");
    let url = format!("{socket}/gateway-socket?encoding=json&v=10&compress=zlib-stream");
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let heartbeat = json!({"op": 1, "d": null}).to_string();
    socket.send(Message::text(heartbeat)).await.unwrap();

    let mut stream = ZlibDecoder::new(Vec::new());
    for expected in [10, 11] {
        let packed = socket.next().await.unwrap().unwrap().into_data();
        assert!(packed.ends_with(&[0, 0, 0xff, 0xff]), "it ends by a flush");
        stream.write_all(&packed).unwrap();
        stream.flush().unwrap();
        let payload: Value = serde_json::from_slice(stream.get_ref()).unwrap();
        stream.get_mut().clear();
        assert_eq!(payload["op"], expected);
    }
}
