internal import Locking
internal import LosslessJSON

/// Runs jq programs in processes of their own, so that a deadline can be kept and a crash costs one call.
///
/// The processes are started when they are needed, and have nothing: no environment, no files, no network. Any number
/// of tasks may call; nothing blocks them. Processes end with the pool, or when this process ends.
package final class JQPool: Sendable {
    package struct Settings: Sendable {
        /// Processor time that one call may take; ten times as long if the machine has other things to do.
        package var deadline: Duration = .seconds(2)
        /// Bytes of one call's outputs; each output counts 64 more.
        package var outputLimit = 24 << 20
        /// Bytes of address space that programs may use in one process: 1 GiB, less where the machine, or the control
        /// group of this process, has less than four times as much.
        package var memoryLimit = MachineMemory.share(of: 1 << 30)
        /// Processes at the same time, at most.
        package var helpers = 2

        package init() {}
    }

    private let queue: BatchQueue
    private let programCount: Int

    /// `programs` should have passed ``JQCompiler/check(_:)``: here, one that does not compile fails its calls.
    ///
    /// - Parameter bindings: Known to all programs. Kept as long as the pool is, for processes that are started later.
    package init(programs: [String], bindings: [JQBinding] = [], settings: Settings = Settings()) {
        programCount = programs.count
        queue = BatchQueue(programs: JQPrograms(programs, bindings: bindings), settings: settings)
    }

    deinit { queue.shutDown() }

    /// The numbers of the processes that live.
    var processes: Set<Int32> { queue.processes.withLock { $0 } }

    /// Ends the processes, and waits for that. Calls that are not done fail.
    package func shutdown() { queue.shutDown() }

    /// Starts a process, and waits until it has taken in the bindings.
    ///
    /// - Returns: Why calls would fail whatever they are; nil if nothing is known to be wrong.
    package func start() async -> JQFault? {
        guard programCount > 0 else { return nil }
        guard case .failed(let fault)? = await put([.check(program: 0)]).first else { return nil }
        return fault
    }

    /// Runs calls, in one round trip if all goes well, and gives their outcomes in the same order.
    ///
    /// Where a document holds what jq can't hold, a second round trip makes sure that the result does not depend on it.
    /// A program that hangs or crashes costs its own call. When the task is cancelled, what is left fails.
    package func run(_ calls: [JQCall]) async -> [JQOutcome] {
        var outcomes: [JQOutcome] = calls.map { .failed(.noSuchProgram($0.program)) }
        let valid = calls.indices.filter { 0..<programCount ~= calls[$0].program }
        let parts = valid.map { InexactParts(of: calls[$0].document) }
        let answers = await put(
            zip(valid, parts).map { index, parts in .call(calls[index], variant: parts.map { ($0, -1) }) })
        var doubtful: [Comparison] = []
        for ((index, parts), answer) in zip(zip(valid, parts), answers) {
            outcomes[index] = JQOutcome(checking: answer)
            guard let parts else { continue }
            // The document's own digits say more than those that jq made of them.
            if case .failed(.inexactNumber) = outcomes[index] { outcomes[index] = .failed(parts.fault) }
            guard case .outputs = outcomes[index] else { continue }
            doubtful += (0..<parts.variantCount).map {
                Comparison(call: index, parts: parts, variant: $0, expected: answer)
            }
        }
        for (index, fault) in await faults(of: doubtful, calls) { outcomes[index] = .failed(fault) }
        return outcomes
    }

    /// One run over a variant of a document.
    private struct Comparison: Sendable {
        let call: Int
        let parts: InexactParts
        let variant: Int
        let expected: JQAnswer

        /// Keeps nothing of a result that is as expected.
        func verdict(on answer: JQAnswer) -> JQAnswer {
            switch answer {
            case expected: .outputs(JQOutputs())
            case .outputs, .failed(.programError), .failed(.tooMuchOutput): .failed(parts.fault)
            case .failed: answer
            }
        }
    }

    private func faults(of comparisons: [Comparison], _ calls: [JQCall]) async -> [(call: Int, JQFault)] {
        let verdicts = await put(
            comparisons.map { .call(calls[$0.call], variant: ($0.parts, $0.variant)) },
            reduce: { comparisons[$0].verdict(on: $1) })
        return zip(comparisons, verdicts).compactMap { comparison, verdict in
            guard case .failed(let fault) = verdict else { return nil }
            return (comparison.call, fault)
        }
    }

    private func put(
        _ requests: [JQRequest], reduce: @escaping @Sendable (Int, JQAnswer) -> JQAnswer = { $1 }
    ) async -> [JQAnswer] {
        guard !requests.isEmpty else { return [] }
        let cancellation = Locked(false)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.add(
                    Batch(requests, cancellation: cancellation, reduce: reduce) { continuation.resume(returning: $0) })
            }
        } onCancel: {
            cancellation.withLock { $0 = true }
        }
    }
}

extension JQOutcome {
    /// Makes texts of the outputs, and refuses numbers that can't be what was meant.
    fileprivate init(checking answer: JQAnswer) {
        switch answer {
        case .failed(let fault): self = .failed(fault)
        case .outputs(let outputs):
            do throws(JQFault) {
                var texts: [JSONText] = []
                texts.reserveCapacity(outputs.count)
                for index in 0..<outputs.count { texts.append(try JSONText(checkingOutput: outputs[index])) }
                self = .outputs(texts)
            } catch { self = .failed(error) }
        }
    }
}

extension JSONText {
    /// - Throws: ``JQFault/unwritableOutput``; ``JQFault/inexactNumber(_:)`` from 2^53 on, where jq skips integers.
    fileprivate convenience init(checkingOutput output: ArraySlice<UInt8>) throws(JQFault) {
        do throws(JSONFault) { try self.init(Array(output)) } catch { throw .unwritableOutput }
        var scan = LeafScan(bytes)
        while let leaf = scan.next() {
            guard case .number(let range) = leaf, !NumberText.isSurelyExact(bytes[range]),
                !(NumberText(bytes[range]).double.magnitude < 0x1p53)
            else { continue }
            throw .inexactNumber(String(decoding: bytes[range], as: UTF8.self))
        }
    }
}
