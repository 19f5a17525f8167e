internal import Locking
internal import LosslessJSON

/// Runs jq programs in helper processes, so that a deadline can be enforced and a crash fails only one call.
///
/// Processes start on demand and have no environment, files or network. Any number of tasks may call, and none is
/// blocked. The processes end with the pool, or with this process.
package final class JQPool: Sendable {
    /// The limits of the programs.
    package struct Settings: Sendable {
        /// Processor time for one call. On a busy machine the elapsed time may be ten times longer.
        package var deadline: Duration = .seconds(2)
        /// Bytes of the outputs of one call, 24 MiB. Each output counts as 64 more.
        package var outputLimit = 24 << 20
        /// Bytes of address space for the programs in one process: 1 GiB, or a quarter of the memory of the machine or
        /// control group if that is less, but at least 128 MiB.
        package var memoryLimit = MachineMemory.share(of: 1 << 30)
        /// The maximum number of concurrent processes: one for each processor, from 2 to 8, but no more than fit with
        /// ``memoryLimit`` into half of the memory.
        package var helpers: Int
        /// Whether programs run in this process, on the task that calls, for simulations. There is then no deadline, and
        /// no limit of memory. Default false.
        package var isInProcess = false

        /// Reads the memory and processors of the machine and its control groups once per process.
        package init() {
            helpers = MachineProcessors.helpers(
                processors: MachineProcessors.count, memory: MachineMemory.limit, memoryLimit: memoryLimit)
        }
    }

    /// 4 MiB.
    private static let smallBindingsLimit = 4 << 20

    private let queue: BatchQueue
    private let programCount: Int
    /// Nil: programs run in helper processes.
    private let inProcess: ProgramsInProcess?

    /// Does not start a process yet. `programs` should have passed ``JQCompiler/check(_:variables:)``: calls of an
    /// uncompilable program fail.
    ///
    /// - Parameter bindings: Variables of all programs. Kept for processes that start later. Each process parses and
    ///   keeps all of them, so large bindings limit the pool to two processes.
    package init(programs: [JQProgram], bindings: [JQBinding] = [], settings: Settings = Settings()) {
        programCount = programs.count
        var settings = settings
        if bindings.reduce(0, { $0 + $1.json.count }) > Self.smallBindingsLimit {
            settings.helpers = min(settings.helpers, 2)
        }
        let all = JQPrograms(programs, bindings: bindings)
        inProcess = settings.isInProcess ? .with(all, outputLimit: settings.outputLimit) : nil
        queue = BatchQueue(programs: all, settings: settings)
    }

    deinit { queue.shutDown() }

    /// The ids of the running processes.
    var processes: Set<Int32> { queue.processes.withLock { $0 } }

    /// Ends the processes and waits for them. Unfinished calls fail.
    package func shutdown() { queue.shutDown() }

    /// Starts a process and waits until it has read the bindings.
    ///
    /// - Returns: Why every call would fail. Nil if no such reason is known.
    package func start() async -> JQError? {
        guard programCount > 0 else { return nil }
        guard case .failed(let error)? = await put([.check(programs: 0..<0)]).first?.answer else { return nil }
        return error
    }

    /// Starts a process and returns at once, so that the first call need not wait for the start.
    package func startSoon() {
        guard programCount > 0, inProcess == nil else { return }
        queue.add(Batch([.check(programs: 0..<0)], cancellation: Locked(false), reduce: { $1 }) { _ in })
    }

    /// Runs calls in one round trip, and returns their outcomes in the same order. Many calls are divided among the
    /// idle processes.
    ///
    /// If a document contains a value that jq can't represent, a second round trip checks that the result does not
    /// depend on it. A program that hangs or crashes fails only its own call. When the task is cancelled, the remaining
    /// calls fail.
    package func run(_ calls: [JQCall]) async -> [JQOutcome] { await timed(calls).map(\.outcome) }

    /// Like ``run(_:)``, with the processor time of each call: zero below a millisecond.
    package func timed(_ calls: [JQCall]) async -> [(outcome: JQOutcome, time: Duration)] {
        var outcomes: [(outcome: JQOutcome, time: Duration)] = calls.map {
            (.failed(.noSuchProgram($0.program)), .zero)
        }
        let valid = calls.indices.filter { 0..<programCount ~= calls[$0].program }
        let parts = valid.map { InexactParts(of: calls[$0].input) }
        let answers = await put(
            zip(valid, parts).map { index, parts in .call(calls[index], variant: parts.map { ($0, -1) }) })
        var comparisons: [Comparison] = []
        for ((index, parts), answer) in zip(zip(valid, parts), answers) {
            outcomes[index] = (JQOutcome(checking: answer.answer), answer.time)
            guard let parts else { continue }
            switch outcomes[index].outcome {
            // If the result comes from a number of the document, the document's digits are more helpful than jq's.
            case .outputs, .failed(.inexactResult), .failed(.notFinite): break
            case .failed: continue
            }
            comparisons += (0..<parts.variantCount).map {
                Comparison(call: index, parts: parts, variant: $0, expected: answer.answer)
            }
        }
        for (index, error, time) in await results(of: comparisons, calls) {
            if let error { outcomes[index].outcome = .failed(error) }
            outcomes[index].time += time
        }
        return outcomes
    }

    /// One run on a variant of a document.
    private struct Comparison: Sendable {
        let call: Int
        let parts: InexactParts
        let variant: Int
        let expected: JQAnswer

        /// Drops a result that is as expected.
        func difference(of answer: JQAnswer) -> JQAnswer {
            switch answer {
            case expected: .outputs(JQOutputs())
            case .outputs, .failed(.programError), .failed(.notFinite), .failed(.tooMuchOutput): .failed(parts.error)
            case .failed: answer
            }
        }
    }

    private func results(
        of comparisons: [Comparison], _ calls: [JQCall]
    ) async -> [(call: Int, error: JQError?, time: Duration)] {
        let results = await put(
            comparisons.map { .call(calls[$0.call], variant: ($0.parts, $0.variant)) },
            reduce: { comparisons[$0].difference(of: $1) })
        return zip(comparisons, results).map { comparison, result in
            if case .failed(let error) = result.answer { return (comparison.call, error, result.time) }
            return (comparison.call, nil, result.time)
        }
    }

    private func put(
        _ requests: [JQRequest], reduce: @escaping @Sendable (Int, JQAnswer) -> JQAnswer = { $1 }
    ) async -> [TimedAnswer] {
        guard !requests.isEmpty else { return [] }
        if let inProcess {
            await Task.yield()
            return requests.enumerated().map { index, request in
                var answer = inProcess.answer(request)
                answer.answer = reduce(index, answer.answer)
                return answer
            }
        }
        let parts = BatchParts(requests.count, queue.availableHelpers)
        let cancellation = Locked(false)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answers = PartialAnswers(parts.ranges.count) { continuation.resume(returning: $0) }
                for (part, range) in parts.ranges.enumerated() {
                    queue.add(
                        Batch(
                            Array(requests[range]), cancellation: cancellation,
                            reduce: { reduce(range.lowerBound + $0, $1) }, finish: { answers.put($0, of: part) }))
                }
            }
        } onCancel: {
            cancellation.withLock { $0 = true }
        }
    }
}

extension JQOutcome {
    /// Parses the outputs, and refuses numbers that may be inexact.
    fileprivate init(checking answer: JQAnswer) {
        switch answer {
        case .failed(let error): self = .failed(error)
        case .outputs(let outputs):
            do throws(JQError) {
                var texts: [JSONText] = []
                texts.reserveCapacity(outputs.count)
                for index in 0..<outputs.count { texts.append(try JSONText(checkingOutput: outputs[index])) }
                self = .outputs(texts)
            } catch { self = .failed(error) }
        }
    }
}

extension JSONText {
    /// - Throws: ``JQError/unwritableOutput``, or ``JQError/inexactResult(_:)`` from 2^53 on, where jq can't represent
    ///   every integer.
    fileprivate convenience init(checkingOutput output: ArraySlice<UInt8>) throws(JQError) {
        do throws(JSONError) { try self.init(Array(output)) } catch { throw .unwritableOutput }
        var scan = LeafScan(bytes)
        while let leaf = scan.next() {
            guard case .number(let range) = leaf, !NumberText.isSurelyExact(bytes[range]),
                !(NumberText(bytes[range]).double.magnitude < 0x1p53)
            else { continue }
            throw .inexactResult(String(decoding: bytes[range], as: UTF8.self))
        }
    }
}
