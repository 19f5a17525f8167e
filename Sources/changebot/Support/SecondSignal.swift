internal import Dispatch
internal import FoundationEssentials
internal import Glibc

/// Exits at the second SIGTERM or SIGINT, with 128 plus the signal's number.
///
/// The service group handles the first signal, which starts the graceful shutdown.
final class SecondSignal {
    private let sources: [any DispatchSourceSignal]

    init() {
        let queue = DispatchQueue(label: "second-signal")
        nonisolated(unsafe) var seen = 0
        sources = [SIGTERM, SIGINT].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The queue is serial, so that handlers never run at the same time.
            source.setEventHandler {
                seen += 1
                if seen > 1 { _exit(128 + number) }
            }
            source.resume()
            return source
        }
    }

    deinit { for source in sources { source.cancel() } }
}
