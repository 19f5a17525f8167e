internal import Dispatch
internal import Foundation

/// Ends the process at once, with 128 + n, when it is asked to stop for the second time.
///
/// The first signal begins the graceful shutdown, which is the service group's business.
final class SecondSignal {
    private let sources: [any DispatchSourceSignal]

    init() {
        let queue = DispatchQueue(label: "second-signal")
        nonisolated(unsafe) var seen = 0
        sources = [SIGTERM, SIGINT].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // On the serial queue, and so never at the same time as another.
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
