internal import Dispatch
internal import FoundationEssentials
internal import Glibc

/// Exits on the second SIGTERM or SIGINT, with 128 plus the signal's number.
///
/// The service group handles the first signal, which starts the graceful shutdown. Create this object after the group
/// has set its handlers; otherwise an earlier signal would be lost.
final class SecondSignal {
    private let sources: [any DispatchSourceSignal]

    /// Returns once the handlers are set.
    init() async {
        let queue = DispatchQueue(label: "second-signal")
        nonisolated(unsafe) var seen = 0
        sources = [SIGTERM, SIGINT].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The queue is serial, so handlers never run concurrently.
            source.setEventHandler {
                seen += 1
                if seen > 1 { _exit(128 + number) }
            }
            return source
        }
        for source in sources {
            await withCheckedContinuation { isRegistered in
                source.setRegistrationHandler { isRegistered.resume() }
                source.resume()
            }
        }
    }

    deinit { for source in sources { source.cancel() } }
}
