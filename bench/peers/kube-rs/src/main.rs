// The same job by kube-rs: listwatch-bench <url> <objects>
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::store;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Config};
use std::time::Instant;

/// Milliseconds of all cores, and the largest size in MiB.
fn usage() -> (f64, f64) {
    let mut r: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
    let ms = |t: libc::timeval| t.tv_sec as f64 * 1e3 + t.tv_usec as f64 / 1e3;
    (ms(r.ru_utime) + ms(r.ru_stime), r.ru_maxrss as f64 / 1024.0)
}

struct Phase {
    start: Instant,
    cpu_ms: f64,
}

impl Phase {
    fn begin() -> Self {
        Phase { start: Instant::now(), cpu_ms: usage().0 }
    }

    fn end(&self) -> serde_json::Value {
        let (cpu_ms, peak_mb) = usage();
        let ms = self.start.elapsed().as_secs_f64() * 1e3;
        serde_json::json!({ "ms": ms, "cpuMs": cpu_ms - self.cpu_ms, "peakMb": peak_mb })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let (url, objects) = (args[1].clone(), args[2].parse::<usize>()?);
    let client = Client::try_from(Config::new(url.parse()?))?;
    let (reader, mut writer) = store::<Pod>();
    // One answer with everything, as for the others.
    let wish = watcher::Config::default().page_size(objects as u32 * 2);
    let mut phase = Phase::begin();
    let mut list = serde_json::Value::Null;
    let mut events = Box::pin(watcher::watcher(Api::all(client), wish));
    let (mut added, mut updated) = (0, 0);
    while let Some(event) = events.next().await {
        let event = event?;
        writer.apply_watcher_event(&event);
        match event {
            Event::InitApply(_) => added += 1,
            Event::InitDone => {
                list = phase.end();
                phase = Phase::begin();
                // The server waits with its answer until a watch is open.
                let address = url.trim_start_matches("http://").to_string();
                std::thread::spawn(move || {
                    use std::io::{Read, Write};
                    let mut go = std::net::TcpStream::connect(address).expect("a server");
                    go.write_all(b"GET /go HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").expect("a question");
                    go.read_to_end(&mut Vec::new()).expect("an answer");
                });
            }
            Event::Apply(_) => updated += 1,
            _ => {}
        }
        if updated == objects {
            break;
        }
    }
    assert_eq!(reader.len(), objects);
    println!("{}", serde_json::json!({ "list": list, "watch": phase.end(), "size": added + updated }));
    Ok(())
}
