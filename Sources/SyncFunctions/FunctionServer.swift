internal import Glibc
internal import HelperProcesses

/// The helper process that runs a sync function.
package enum SyncFunctionHelper {
    static let purpose = HelperPurpose(processName: "changebot-sync-function")

    /// Must be called first in `main`. In a helper process, serves until its input ends and never returns.
    package static func serveIfAsked() {
        purpose.serveIfAsked {
            var server = FunctionServer()
            HelperInput.serve { server.answer(&$0) }
        }
    }
}

private struct FunctionServer {
    private var engine: Engine?
    /// Processor time of one call.
    private var time = Duration.zero
    private var answers = FrameWriter()

    mutating func answer(_ frame: inout Frame) {
        switch FunctionFrame(rawValue: frame.kind) {
        case .limits:
            guard let time = frame.takeInteger(), let memory = frame.takeInteger(), Confinement.apply(memory: memory),
                let engine = Engine()
            else {
                _exit(EXIT_FAILURE)
            }
            self.engine = engine
            self.time = .milliseconds(time)
        case .function: take(frame)
        case .call:
            HelperInput.setAlarm(time)
            guard let result = engine?.call(frame.content) else { _exit(EXIT_FAILURE) }
            HelperInput.setAlarm(nil)
            send(.result) { $0.append(result) }
        default: _exit(EXIT_FAILURE)
        }
    }

    private mutating func take(_ frame: Frame) {
        guard let engine else { _exit(EXIT_FAILURE) }
        do throws(Engine.Refusal) {
            try engine.set(Array(frame.content))
            send(.ready) { _ in }
        } catch {
            send(.refused) { frames in
                frames.append(error.line)
                frames.append(Array(error.message.utf8.prefix(1_000)))
            }
        }
    }

    private mutating func send(_ kind: FunctionFrame, _ content: (inout FrameWriter) -> Void) {
        answers.begin(kind.rawValue)
        content(&answers)
        answers.end()
        HelperInput.send(&answers)
    }
}
