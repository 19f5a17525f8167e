import Foundation
import LosslessJSON
import Testing

@testable import Rules

/// Patterns without writable and executable memory, as in a systemd unit with `MemoryDenyWriteExecute=yes`.
@Suite struct InterpretedPatternTests {
    private static let patterns = ["(?i)^(apple|coffee|potatoes)$", "^[a-z]+\\d{2,}$", "(?<word>b+)c", "^(a+)+$"]
    private static let texts = ["Apple", "apples", "task12", "abbc", "x", String(repeating: "a", count: 200)]

    /// Whether each pattern matches each text, and whether it runs as machine code.
    ///
    /// - Parameter isRefused: Forbids more memory for machine code. What other tests left over is used up first.
    private static func results(isRefused: Bool = false) throws -> (matches: [Bool], machineCode: [Bool]) {
        let scratch = MatchScratch()
        var filling: [RegularExpression] = []
        let expressions = try patterns.map { pattern in
            var expression = try RegularExpression(pattern)
            while isRefused, expression.isMachineCode, filling.count < 1_000_000 {
                filling.append(expression)
                expression = try RegularExpression(pattern)
            }
            return expression
        }
        let matches = try expressions.flatMap { expression in
            try texts.map { try expression.matches(try JSONText("\"\($0)\"").root, scratch) }
        }
        return (matches, expressions.map(\.isMachineCode))
    }

    @Test func patternsMatchTheSameWithoutMachineCode() throws {
        let compiled = try Self.results()
        #expect(compiled.machineCode == Self.patterns.map { _ in true })
        nonisolated(unsafe) var interpreted: Result<(matches: [Bool], machineCode: [Bool]), any Error>?
        let isDone = DispatchSemaphore(value: 0)
        Thread {
            interpreted = Result {
                try ExecutableMemory.refuse()
                return try Self.results(isRefused: true)
            }
            isDone.signal()
        }.start()
        isDone.wait()
        let result = try #require(try interpreted?.get())
        #expect(result.machineCode == Self.patterns.map { _ in false })
        #expect(result.matches == compiled.matches)
    }
}

/// Forbids this thread writable and executable memory permanently.
///
/// The same filter as systemd's.
///
/// - Note: Source: systemd 252, `seccomp_memory_deny_write_execute`; seccomp(2), `struct sock_filter`.
private enum ExecutableMemory {
    struct NotRefused: Error { let call: String }

    private struct Step {
        let code: UInt16
        var ifTrue: UInt8 = 0
        var ifFalse: UInt8 = 0
        let value: UInt32
    }

    private struct Program {
        let count: UInt16
        let steps: UnsafeMutablePointer<Step>
    }

    private typealias Control = @convention(c) (Int32, Int, Int, Int, Int) -> Int32

    static func refuse() throws {
        guard let function = dlsym(dlopen(nil, RTLD_NOW), "prctl") else { throw NotRefused(call: "dlsym") }
        let control = unsafeBitCast(function, to: Control.self)
        #if arch(arm64)
            let (mmap, mprotect): (UInt32, UInt32) = (222, 226)
        #else
            let (mmap, mprotect): (UInt32, UInt32) = (9, 10)
        #endif
        let (load, isEqual, hasBits, and, give): (UInt16, UInt16, UInt16, UInt16, UInt16) = (
            0x20, 0x15, 0x45, 0x54, 0x06
        )
        let (number, protection): (UInt32, UInt32) = (0, 32)
        let (allowed, refused): (UInt32, UInt32) = (0x7FFF_0000, 0x0005_0000 | UInt32(EPERM))
        var steps = [
            Step(code: load, value: number),
            Step(code: isEqual, ifTrue: 2, value: mmap),
            Step(code: isEqual, ifTrue: 4, value: mprotect),
            Step(code: give, value: allowed),
            // mmap: writable and executable memory.
            Step(code: load, value: protection),
            Step(code: and, value: 6),
            Step(code: isEqual, ifTrue: 2, ifFalse: 3, value: 6),
            // mprotect: executable memory.
            Step(code: load, value: protection),
            Step(code: hasBits, ifFalse: 1, value: 4),
            Step(code: give, value: refused),
            Step(code: give, value: allowed),
        ]
        let (noNewPrivileges, setFilter, filterMode): (Int32, Int32, Int) = (38, 22, 2)
        guard control(noNewPrivileges, 1, 0, 0, 0) == 0 else { throw NotRefused(call: "PR_SET_NO_NEW_PRIVS") }
        let isSet = steps.withUnsafeMutableBufferPointer { steps in
            guard let first = steps.baseAddress else { return false }
            var program = Program(count: UInt16(steps.count), steps: first)
            return withUnsafeMutablePointer(to: &program) {
                control(setFilter, filterMode, Int(bitPattern: $0), 0, 0) == 0
            }
        }
        guard isSet else { throw NotRefused(call: "PR_SET_SECCOMP") }
    }
}
