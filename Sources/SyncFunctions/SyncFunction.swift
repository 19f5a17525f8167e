internal import HelperProcesses
internal import Locking

/// A sync function in JavaScript, which runs in a helper process.
///
/// A function that exceeds its time or memory, or crashes the engine, fails only one call: the process is replaced. The
/// process has no environment, files or network. It ends with this object.
package final class SyncFunction: Sendable {
    /// The limits of one function.
    package struct Limits: Sendable {
        /// Processor time for one call. On a busy machine the elapsed time may be ten times longer. Default: 10 s.
        package var time: Duration = .seconds(10)
        /// Bytes of memory of the process beyond its initial size. Default: 256 MiB.
        package var memory = 256 << 20

        package init() {}
    }

    /// Why there was no result.
    package enum Failure: Error, Equatable {
        case timedOut
        /// The process ended, most likely because it ran out of memory.
        case crashed
        /// No process could be started; contains the system's message.
        case notStarted(String)
    }

    /// The text does not parse, or is not a function.
    package struct Refusal: Error, Equatable, CustomStringConvertible {
        package let message: String
        /// The line in the function, from 1. Nil if it is unknown.
        package let line: Int?

        package init(message: String, line: Int?) {
            self.message = message
            self.line = line
        }

        package var description: String { line.map { "line \($0): \(message)" } ?? message }
    }

    /// Starting and compiling may take longer than a call.
    private static let startingTime: Duration = .seconds(30)
    private static let maxResultSize = 64 << 20

    package let source: String
    package let limits: Limits
    /// Calls are serialized, from threads that may block.
    private let session: Locked<Session>

    /// Starts the process.
    ///
    /// Blocks the calling thread until the function is compiled, some milliseconds.
    ///
    /// - Throws: ``Refusal``; ``Failure``.
    package init(_ source: String, limits: Limits = Limits()) throws {
        self.source = source
        self.limits = limits
        session = Locked(Session(source: Array(source.utf8), limits: limits))
        try session.withLock { session in try session.start() }
    }

    /// Runs the function. Blocks the calling thread, at most until the time limit.
    package func call(_ call: SyncFunctionCall) throws(Failure) -> SyncFunctionResult {
        try session.withLock { session throws(Failure) in try session.call(call.text) }
    }

    /// The process with the function. Used under the lock.
    private final class Session: @unchecked Sendable {
        let source: [UInt8]
        let limits: Limits
        /// Nil after the process has ended.
        private var channel: HelperChannel?
        private let clock = ContinuousClock()

        init(source: [UInt8], limits: Limits) {
            self.source = source
            self.limits = limits
        }

        func start() throws {
            let channel: HelperChannel
            do throws(HelperNotStarted) {
                channel = try HelperChannel(
                    SyncFunctionHelper.purpose, maxFrameSize: SyncFunction.maxResultSize, register: Locked([]))
            } catch { throw Failure.notStarted(error.reason) }
            channel.add { frames in
                frames.begin(FunctionFrame.limits.rawValue)
                frames.append(limits.time.milliseconds)
                frames.append(limits.memory)
                frames.end()
                frames.begin(FunctionFrame.function.rawValue)
                frames.append(source)
                frames.end()
            }
            var frame: Frame
            do throws(Failure) { frame = try answer(of: channel, within: SyncFunction.startingTime) } catch {
                throw Failure.notStarted(error == .timedOut ? "it does not answer" : "it exits immediately")
            }
            guard FunctionFrame(rawValue: frame.kind) == .ready else {
                let line = frame.takeInteger() ?? 0
                throw Refusal(message: String(decoding: frame.content, as: UTF8.self), line: line > 0 ? line : nil)
            }
            self.channel = channel
        }

        func call(_ text: [UInt8]) throws(Failure) -> SyncFunctionResult {
            let channel = try runningChannel()
            channel.add { frames in
                frames.begin(FunctionFrame.call.rawValue)
                frames.append(text)
                frames.end()
            }
            do throws(Failure) {
                let frame = try answer(of: channel, within: limits.time)
                guard let result = SyncFunctionResult(Array(frame.content)) else { throw .crashed }
                return result
            } catch {
                self.channel = nil
                throw error
            }
        }

        private func runningChannel() throws(Failure) -> HelperChannel {
            if let channel, channel.isAlive { return channel }
            channel = nil
            do { try start() } catch {
                throw error as? Failure ?? .notStarted("\(error)")
            }
            guard let channel else { throw .notStarted("it exits immediately") }
            return channel
        }

        private func answer(of channel: HelperChannel, within limit: Duration) throws(Failure) -> Frame {
            var time = CallTime(start: clock.now)
            while true {
                let progress: HelperChannel.Progress
                do throws(HelperEnded) { progress = try channel.wait(100) } catch { throw .crashed }
                switch progress {
                case .frame(let frame): return frame
                case .moved: continue
                case .nothing:
                    guard time.isUp(limit, now: clock.now, used: channel.processorTime) else { continue }
                    throw .timedOut
                }
            }
        }
    }
}
