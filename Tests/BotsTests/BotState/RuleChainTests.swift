import GatewayClient
import Testing

@testable import BotState

/// Which causes a rule chain follows, tested on a model of a database in which rules write documents.
@Suite struct RuleChainCauseTests {
    /// The chains of the newest revisions.
    private struct Model {
        private var chains: [String: RuleChain] = [:]

        subscript(_ id: String) -> RuleChain { chains[id] ?? .begun(by: DocumentID(id)) }

        var exists: Set<String> = []

        /// A writer other than the bot changes the document.
        mutating func change(_ id: String) {
            chains[id] = .begun(by: DocumentID(id), after: chains[id])
            exists.insert(id)
        }

        /// Rules for several documents cause one write. Returns false if the chain is too long.
        @discardableResult
        mutating func write(_ id: String, because sources: [String], by rule: String) -> Bool {
            let orders = sources.map { self[$0].followed(by: rule) }
            guard !orders.contains(where: \.isTooLong) else { return false }
            chains[id] = RuleChain.shortest(of: orders).written(over: exists.contains(id) ? self[id] : nil)
            exists.insert(id)
            return true
        }

        @discardableResult
        mutating func write(_ id: String, because source: String, by rule: String) -> Bool {
            write(id, because: [source], by: rule)
        }

        func depth(_ id: String) -> Int { self[id].rules.count }
    }

    @Test(arguments: [false, true]) func registerThatAnswersRequestsBuildsNoChain(isMadeByRules: Bool) {
        var model = Model()
        model.change("register")
        func ask(_ number: Int) {
            model.change("order\(number)")
            if isMadeByRules {
                model.write("i\(number)", because: "order\(number)", by: "bill")
            } else {
                model.change("i\(number)")
            }
            let ask = model.write("register", because: "i\(number)", by: "ask")
            #expect(ask)
        }
        ask(0)
        for number in 1..<500 {
            ask(number)
            // It answers the previous request only now, caused by its latest change.
            let give = model.write("i\(number - 1)", because: "register", by: "give")
            #expect(give)
            let confirm = model.write("register", because: "i\(number - 1)", by: "confirm")
            #expect(confirm)
            #expect(model.depth("register") <= 4)
        }
    }

    /// More documents wait for the register than its chain remembers, and it answers them one by one.
    @Test func queueFilledByOthersBuildsNoChain() {
        var model = Model()
        model.change("queue")
        for number in 0..<300 {
            model.change("job\(number)")
            model.write("queue", because: "job\(number)", by: "ask")
        }
        for number in 0..<300 {
            let give = model.write("job\(number)", because: "queue", by: "give")
            #expect(give)
            let confirm = model.write("queue", because: "job\(number)", by: "confirm")
            #expect(confirm)
        }
    }

    @Test func manualChangeOfTheRegisterLosesNoRequest() {
        var model = Model()
        model.change("register")
        for number in 0..<30 { model.change("i\(number)") }
        for number in 0..<30 { model.write("register", because: "i\(number)", by: "ask") }
        model.change("register")
        for number in 0..<30 {
            let give = model.write("i\(number)", because: "register", by: "give")
            #expect(give)
            let confirm = model.write("register", because: "i\(number)", by: "confirm")
            #expect(confirm)
        }
    }

    @Test func totalReadByAnotherRuleKeepsItsDepth() {
        var model = Model()
        for number in 0..<100 {
            model.change("task\(number)")
            model.write("total", because: "task\(number)", by: "count")
            model.write("report", because: "total", by: "report")
            #expect(model.depth("total") == 1)
            #expect(model.depth("report") == 2)
        }
    }

    /// Existing documents that did nothing are not causes.
    @Test func chainAlongExistingDocumentsEnds() {
        var model = Model()
        for number in 0..<20 { model.change("d\(number)") }
        let written = (1..<20).prefix { model.write("d\($0)", because: "d\($0 - 1)", by: "next") }
        #expect(written.count == 10)
    }

    /// - Parameter loop: Each document causes a write of the next one, and the last one of the first.
    @Test(arguments: [["a", "b"], ["a", "b", "c"], ["a", "b", "a", "c"]], [false, true])
    func documentsThatWriteEachOtherStop(loop: [String], exist: Bool) {
        var model = Model()
        model.change("a")
        if exist { for id in loop { model.change(id) } }
        var writes = 0
        while writes < 1000 {
            let (from, to) = (loop[writes % loop.count], loop[(writes + 1) % loop.count])
            guard model.write(to, because: from, by: "\(from)\(to)") else { break }
            writes += 1
        }
        #expect(writes == 10)
    }

    @Test func loopStartedByAnotherDocumentEnds() {
        var model = Model()
        for id in ["a", "b", "c"] { model.change(id) }
        model.write("a", because: "c", by: "ca")
        var writes = 0
        while writes < 1000, model.write("b", because: "a", by: "ab"), model.write("a", because: "b", by: "ba") {
            writes += 2
        }
        #expect(writes < 30)
    }

    /// While other writers keep changing the register, each change prolongs a loop for a while. After that, it ends.
    @Test(arguments: [0, 10, 500]) func loopThroughABusyRegisterEnds(asks: Int) {
        var model = Model()
        model.change("register")
        model.change("x")
        var asked = 0
        var writes = 0
        while writes < 5000 {
            if asked < asks {
                model.change("i\(asked)")
                model.write("register", because: "i\(asked)", by: "ask")
                asked += 1
            }
            guard model.write("x", because: "register", by: "spin"), model.write("register", because: "x", by: "back")
            else { break }
            writes += 1
        }
        #expect(writes < 30 + asks)
    }

    @Test func storedChainsEqualTheOriginals() {
        var model = Model()
        for number in 0..<100 {
            model.change("i\(number)")
            model.write("register", because: "i\(number)", by: "ask → \u{0}")
        }
        for chain in [model["register"], model["i1"], model["other"], RuleChain(["a", "b"]), RuleChain()] {
            #expect(RuleChain(json: chain.json) == chain)
        }
        #expect(RuleChain(json: Array(#"["a","b"]"#.utf8)) == RuleChain(["a", "b"]))
    }
}
