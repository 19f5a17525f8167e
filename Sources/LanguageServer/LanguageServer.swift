internal import Locking
package import RuleEditing

/// A language server for rule files: reads messages, and answers them.
///
/// Messages are handled in their order, at once. Diagnostics and tests are computed meanwhile, and only those of the
/// newest version are sent.
package final class LanguageServer: Sendable {
    private let session: Locked<ServerSession>
    private let output: Output
    private let now: @Sendable () -> Int
    private let worker = Worker()

    /// - Parameters:
    ///   - version: The version of the program.
    ///   - now: `$now` for tests that do not set it, in seconds since 1970.
    ///   - write: Writes bytes to the editor. False if it is gone.
    package init(
        context: EditingContext, version: String, now: @escaping @Sendable () -> Int,
        write: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        session = Locked(ServerSession(context: context, version: version))
        self.now = now
        output = Output(write)
    }

    /// Serves until the editor says `exit` or closes the connection. Then waits for work that has begun.
    ///
    /// - Parameter read: Waits for bytes. Empty at the end.
    /// - Returns: The exit code: 0 after `shutdown`, 1 otherwise.
    package func run(read: () async -> [UInt8]) async -> Int32 {
        await withDiscardingTaskGroup { group in
            var frames = MessageFrames()
            while true {
                let bytes = await read()
                guard !bytes.isEmpty else { return session.withLock { $0.codeAtEnd } }
                frames.add(bytes)
                for output in outputs(&frames) {
                    if let code = await perform(output, in: &group) {
                        group.cancelAll()
                        return code
                    }
                }
            }
        }
    }

    private func outputs(_ frames: inout MessageFrames) -> [ServerOutput] {
        var outputs: [ServerOutput] = []
        var messages: [[UInt8]] = []
        func flush() {
            outputs += session.withLock { $0.take(messages) }
            messages = []
        }
        while let frame = frames.next() {
            switch frame {
            case .message(let bytes): messages.append(bytes)
            case .badHeader:
                flush()
                outputs += session.withLock { $0.refuseFrame() }
            case .unreadable:
                flush()
                return outputs + session.withLock { $0.refuseFrame() } + [.exit(code: 1)]
            }
        }
        flush()
        return outputs
    }

    /// - Returns: The exit code, if the program ends.
    private func perform(_ output: ServerOutput, in group: inout DiscardingTaskGroup) async -> Int32? {
        switch output {
        case .send(let message): if await !self.output.send({ message }) { return 1 }
        case .diagnose(let uri): group.addTask { await self.diagnose(uri) }
        case .run(let request): group.addTask { await self.run(request) }
        case .exit(let code): return code
        }
        return nil
    }

    private func diagnose(_ uri: String) async {
        guard let request = session.withLock({ $0.diagnosticsRequest(uri: uri) }) else { return }
        let diagnostics = await worker.perform { Task.isCancelled ? nil : request.diagnostics() }
        guard let diagnostics else { return }
        // The message is made when it is written, so that older diagnostics never follow newer ones.
        _ = await output.send { self.session.withLock { $0.message(diagnostics, for: request) } }
    }

    private func run(_ request: TestRequest) async {
        let outcome = await request.outcome(now: now())
        for output in session.withLock({ $0.finish(request, outcome) }) {
            switch output {
            case .send(let message): _ = await self.output.send { message }
            case .diagnose(let uri): await diagnose(uri)
            case .run, .exit: break
            }
        }
    }
}

/// Computes diagnostics one after the other, without blocking the threads shared by all tasks.
private actor Worker {
    private nonisolated let executor = BlockingExecutor("diagnostics")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func perform<Result: Sendable>(_ body: @Sendable () -> Result) -> Result { body() }
}

/// Writes messages one after the other.
private actor Output {
    private nonisolated let executor = BlockingExecutor("output")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let write: @Sendable ([UInt8]) -> Bool

    init(_ write: @escaping @Sendable ([UInt8]) -> Bool) { self.write = write }

    /// False if the editor is gone.
    func send(_ message: @Sendable () -> [UInt8]?) -> Bool {
        guard let message = message() else { return true }
        return write(MessageFrames.framed(message))
    }
}
