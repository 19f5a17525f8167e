import Foundation
import Locking
import TestKit
import Testing

@testable import JQ

/// A helper process that ends while it runs a program, before it has read all input: the connection is reset.
@Suite(.limitedParallelism) struct EndedProcessTests {
    @Test(
        arguments: [
            (
                SIGKILL, .killed(signal: SIGKILL),
                "jq was killed while the program ran, by the system if its memory ran out"
            ),
            (SIGTERM, .killed(signal: SIGTERM), "signal 15 (Terminated) ended jq while the program ran"),
            // As after jq dereferenced a failed allocation.
            (SIGSEGV, .crashed, "jq ended while the program ran, most likely because it ran out of memory"),
            // As after a failed assertion of jq.
            (SIGABRT, .aborted, "a jq function crashed on a value that it can't handle"),
        ] as [(Int32, JQError, String)])
    func errorNamesTheSignal(signal: Int32, error: JQError, message: String) throws {
        var settings = JQPool.Settings()
        settings.deadline = .seconds(600)
        let processes = Locked<Set<pid_t>>([])
        let programs = JQPrograms([JQProgram("1"), JQProgram("last(range(1e12))")], bindings: [])
        let conversation = Conversation(programs: programs, settings: settings, register: processes)
        var answers: [JQAnswer] = []
        conversation.put([.call(try call(0), variant: nil)], stopping: { nil }, answer: { answers.append($0.answer) })
        let long = "\"" + String(repeating: "x", count: 4 << 20) + "\""
        var checks = 0
        var victim: pid_t?
        conversation.put(
            [.call(try call(1), variant: nil), .call(try call(0, long), variant: nil)],
            stopping: {
                checks += 1
                // Swift's backtrace handler may catch the first signal.
                if checks == 10 { victim = processes.withLock(\.first) }
                if let victim { kill(victim, signal) }
                return nil
            }, answer: { answers.append($0.answer) })
        #expect(answers.count == 3 && answers[0] == answers[2])
        #expect(answers[1] == .failed(error))
        #expect("\(error)".hasPrefix(message))
    }
}
