import Glibc
import TestKit
import Testing

@testable import Outside

@Suite(.limitedParallelism) struct StandardOutputLinesTests {
    private static let line = [UInt8](repeating: 0x61, count: 1 << 20) + [0x0A]

    private func withPipe(_ body: (_ reading: Int32, _ writing: Int32) async throws -> Void) async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try await body(ends[0], ends[1])
    }

    @Test func blockedReaderDoesNotKeepARunFromEnding() async throws {
        try await withPipe { _, writing in
            let task = Task { try await StandardOutputLines(writing).append(Self.line) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func longLineWaitsForASlowReader() async throws {
        try await withPipe { reading, writing in
            let task = Task { try await StandardOutputLines(writing).append(Self.line) }
            let bytes = await onNewThread {
                var bytes: [UInt8] = []
                var chunk = [UInt8](repeating: 0, count: 1000)
                while bytes.count < Self.line.count, case let count = read(reading, &chunk, chunk.count), count > 0 {
                    bytes += chunk[..<count]
                }
                return bytes
            }
            try await task.value
            #expect(bytes == Self.line)
        }
    }
}
