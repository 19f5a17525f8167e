import Locking
import Testing

@testable import JQ

@Suite
struct BatchPartsTests {
    @Test(arguments: [
        // Count, idle and unstarted helpers, sizes of the parts.
        (1, 0, 0, [1]), (1, 4, 4, [1]), (31, 2, 0, [31]), (32, 2, 0, [16, 16]), (33, 2, 0, [16, 17]),
        (100, 3, 0, [33, 33, 34]), (100, 0, 4, [100]), (127, 0, 2, [127]), (128, 0, 2, [64, 64]),
        (128, 1, 1, [64, 64]), (100, 2, 2, [50, 50]), (1000, 2, 2, [250, 250, 250, 250]), (1000, 0, 0, [1000]),
    ])
    func batchIsDividedIfPartsAreLargeEnough(count: Int, idle: Int, unstarted: Int, sizes: [Int]) {
        let ranges = BatchParts(count, BatchParts.Helpers(idle: idle, unstarted: unstarted)).ranges
        #expect(ranges.map(\.count) == sizes)
        #expect(ranges.flatMap { Array($0) } == Array(0..<count))
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func answersKeepTheirOrder(parts: [Int]) {
        let delivered = Locked<[[TimedAnswer]]>([])
        let answers = PartialAnswers(3) { all in delivered.withLock { $0.append(all) } }
        let errors: [[JQError]] = [[.crashed], [.cancelled, .shutDown], [.tooDeep]]
        let texts = errors.map { $0.map { TimedAnswer(answer: .failed($0)) } }
        for part in parts {
            #expect(delivered.withLock(\.isEmpty))
            answers.put(texts[part], of: part)
        }
        #expect(delivered.withLock { $0 } == [texts.flatMap { $0 }])
    }

    @Test(arguments: [
        ("max 100000\n", nil), ("-1\n 100000\n", nil), ("200000 100000\n", 2), ("150000 100000", 2),
        ("50000 100000\n", 1), ("100000 0", nil), ("0 100000", nil), ("", nil), ("x", nil),
    ])
    func processorQuotaIsRoundedUp(text: String, processors: Int?) {
        #expect(MachineProcessors.quota(text) == processors)
    }

    @Test
    func machineHasAtLeastOneProcessor() {
        #expect(MachineProcessors.count >= 1)
        #expect(2...8 ~= JQPool.Settings().helpers)
    }

    @Test(arguments: [
        // Processors, GiB of memory, MiB for each helper.
        (1, 16, 1024, 2), (2, 16, 1024, 2), (4, 16, 1024, 4), (8, 16, 1024, 8), (64, 256, 1024, 8),
        (8, 8, 1024, 4), (8, 4, 1024, 2), (8, 1, 256, 2),
    ])
    func eachProcessorHasAHelperIfMemoryAllows(processors: Int, memory: Int, each: Int, helpers: Int) {
        let count = MachineProcessors.helpers(
            processors: processors, memory: memory << 30, memoryLimit: each << 20)
        #expect(count == helpers)
    }
}
