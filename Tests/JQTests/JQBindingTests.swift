import Glibc
import LosslessJSON
import TestKit
import Testing

@testable import JQ

/// Values that programs read by name.
@Suite(.limitedParallelism, .serialized) struct JQBindingTests {
    private func pool(
        _ programs: [String], _ bindings: [String: String], _ change: (inout JQPool.Settings) -> Void = { _ in }
    ) throws -> JQPool {
        var settings = JQPool.Settings()
        settings.helpers = 1
        settings.deadline = .seconds(60)
        change(&settings)
        let values = try bindings.sorted { $0.key < $1.key }.map { try JQBinding(name: $0, JSONText($1)) }
        return JQPool(programs: programs.map { JQProgram($0) }, bindings: values, settings: settings)
    }

    @Test func allProgramsReadBindings() async throws {
        let pool = try pool(
            ["$a | length", ". as $x | $b[$x]", "def f: $a[0]; f", "def g: 1;"],
            ["a": "[1.10,2]", "b": #"{"k":"v","change":null}"#])
        let calls = [try call(0), try call(1, #""k""#), try call(2), try call(3, "7")]
        #expect(await pool.run(calls).map(\.texts) == [["2"], [#""v""#], ["1.1"], ["7"]])
    }

    @Test func runsCannotChangeBindingsForLaterRuns() async throws {
        let pool = try pool(["$a | .[0] = 9", "$a"], ["a": "[1]"])
        #expect(await pool.run([try call(0), try call(1), try call(0)]).map(\.texts) == [["[9]"], ["[1]"], ["[9]"]])
    }

    @Test func replacementProcessHasTheBindings() async throws {
        let pool = try pool(["$a", "[limit(100000000; repeat(\"x\" * 1000))] | length"], ["a": "[1]"]) {
            $0.memoryLimit = 64 << 20
        }
        #expect(await pool.run([try call(0), try call(1), try call(0)]).map(\.texts) == [["[1]"], nil, ["[1]"]])
        let child = try #require(pool.processes.first)
        kill(child, SIGKILL)
        var information = siginfo_t()
        waitid(P_PID, id_t(child), &information, Int32(WEXITED | WNOWAIT))
        #expect(await pool.run([try call(0)]).map(\.texts) == [["[1]"]])
    }

    @Test func startReadsTheBindings() async throws {
        #expect(await (try pool(["$a"], ["a": "[1]"])).start() == nil)
        #expect(await JQPool(programs: []).start() == nil)
    }

    @Test(arguments: [("a", 32 << 20), ("b", 1 << 10)])
    func tooLargeBindingFailsEveryCall(name: String, memory: Int) async throws {
        let text = "[\(Array(repeating: "[0]", count: 500_000).joined(separator: ","))]"
        let pool = try pool(["1"], [name: text]) { $0.memoryLimit = memory }
        let error = JQError.bindingTooLarge(name: name, length: text.utf8.count, limit: memory)
        #expect(await pool.start() == error)
        #expect(await pool.run([try call(0), try call(0)]).map(\.error) == [error, error])
        #expect(!error.isTemporary)
    }

    @Test func tooDeepBindingFailsEveryCall() async throws {
        let text = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
        let pool = try pool(["1"], ["a": text])
        #expect(await pool.start() == .unreadableBinding(name: "a", nil))
        #expect(await pool.run([try call(0)]).map(\.error) == [.unreadableBinding(name: "a", nil)])
    }

    @Test(arguments: ["[12345678901234567890]", "[0.1000000000000000000001]", #"{"a":"\ud800"}"#])
    func inexactValuesAreRefused(text: String) throws {
        #expect(throws: JQError.self) { try JQBinding(name: "a", JSONText(text)) }
    }

    @Test(arguments: [
        ("users", true), ("_a1", true), ("A", true), ("", false), ("1a", false), ("a-b", false), ("ä", false),
        ("__loc__", false), ("now", false), ("match", false), ("change", false), ("ENV", false), ("end", false),
        (String(repeating: "a", count: 65), false),
    ])
    func onlyVariableNamesAreAccepted(name: String, isName: Bool) throws {
        #expect(JQBinding.isName(name) == isName)
        let errors = try JQCompiler.check(["$\(name)"], variables: isName ? [name] : [])
        #expect(!isName || errors == [nil])
    }

    @Test func undeclaredNameDoesNotCompile() throws {
        let errors = try JQCompiler.check(["$a", "$b"], variables: ["a"])
        #expect(errors.map { $0?.message } == [nil, "$b is not defined"])
    }
}
