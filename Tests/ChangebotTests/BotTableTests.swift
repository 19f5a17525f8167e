import Testing

@testable import changebot

/// Decisions about which bots start, stop and get new rules.
@Suite struct BotTableTests {
    private static func bot(_ name: String, feed: String = "longpoll", rules: String = "1") -> BotTable.Bot {
        BotTable.Bot(name: name, signature: ["feed": [feed]], rulesHash: rules)
    }

    /// A table with these bots, all running.
    private static func table(_ names: String..., policy: BotFailurePolicy = .continue) -> BotTable {
        var table = BotTable(names.map { bot($0) }, policy: policy)
        #expect(table.begin() == names.map { .start($0) })
        return table
    }

    @Test(
        arguments: [
            ([bot("a"), bot("b")], []),
            ([bot("a", rules: "2"), bot("b")], [.replaceRules("a")]),
            ([bot("a", feed: "continuous", rules: "2"), bot("b")], [.stop("a")]),
            ([bot("b")], [.hide("a"), .stop("a")]),
            ([bot("a"), bot("b"), bot("c")], [.start("c")]),
            ([bot("c")], [.hide("a"), .stop("a"), .hide("b"), .stop("b"), .start("c")]),
        ] as [([BotTable.Bot], [BotTable.Action])])
    func reloadChangesOnlyDifferentBots(bots: [BotTable.Bot], actions: [BotTable.Action]) {
        var table = Self.table("a", "b")
        #expect(table.reload(bots, isShuttingDown: false) == actions)
        // A second reload has no effect.
        #expect(table.reload(bots, isShuttingDown: false).isEmpty)
    }

    @Test func botThatStopsForNewSettingsStartsWithTheLatest() {
        var table = Self.table("a")
        #expect(table.reload([Self.bot("a", feed: "continuous")], isShuttingDown: false) == [.stop("a")])
        #expect(table.reload([Self.bot("a", rules: "2")], isShuttingDown: false).isEmpty)
        #expect(table.ended("a", failed: false, isShuttingDown: false) == [.start("a")])
        #expect(table.reload([Self.bot("a", rules: "2")], isShuttingDown: false).isEmpty)
    }

    @Test func removedBotThatReappearsStartsAgain() {
        var table = Self.table("a", "b")
        #expect(table.reload([Self.bot("b")], isShuttingDown: false) == [.hide("a"), .stop("a")])
        #expect(table.reload([Self.bot("a"), Self.bot("b")], isShuttingDown: false).isEmpty)
        #expect(table.ended("a", failed: false, isShuttingDown: false) == [.start("a")])
    }

    @Test func failureIsReportedAndOthersContinue() {
        var table = Self.table("a", "b")
        #expect(table.ended("a", failed: true, isShuttingDown: false) == [.report("a")])
        #expect(table.failed == ["a"] && !table.isDone)
        #expect(table.ended("b", failed: false, isShuttingDown: false).isEmpty)
        #expect(table.isDone)
    }

    @Test func reloadRestartsAFailedBot() {
        var table = Self.table("a", "b")
        _ = table.ended("a", failed: true, isShuttingDown: false)
        #expect(table.reload([Self.bot("a"), Self.bot("b")], isShuttingDown: false) == [.start("a")])
        #expect(table.failed.isEmpty)
    }

    @Test func botThatFailsWhileStoppingIsReportedAndRestarted() {
        var table = Self.table("a")
        _ = table.reload([Self.bot("a", feed: "continuous")], isShuttingDown: false)
        #expect(table.ended("a", failed: true, isShuttingDown: false) == [.report("a"), .start("a")])
        #expect(table.failed.isEmpty)
    }

    /// The exit of the process reports it.
    @Test func onlyBotNeedsNoReport() {
        var table = Self.table("a")
        #expect(table.ended("a", failed: true, isShuttingDown: false).isEmpty)
        #expect(table.isDone && table.failed == ["a"])
    }

    @Test func failureStopsTheOthersIfConfigured() {
        var table = Self.table("a", "b", "c", policy: .stop)
        #expect(table.ended("b", failed: true, isShuttingDown: false) == [.report("b"), .stop("a"), .stop("c")])
        // Nothing starts any more, whatever is reloaded.
        let bots = [Self.bot("a"), Self.bot("b"), Self.bot("c"), Self.bot("d")]
        #expect(table.reload(bots, isShuttingDown: false).isEmpty)
        #expect(table.ended("a", failed: false, isShuttingDown: false).isEmpty)
        #expect(table.ended("c", failed: false, isShuttingDown: false).isEmpty)
        #expect(table.isDone && table.failed == ["b"])
    }

    @Test func noBotStartsWhileTheProcessStops() {
        var table = Self.table("a", "b")
        _ = table.reload([Self.bot("a", feed: "continuous"), Self.bot("b")], isShuttingDown: false)
        #expect(table.ended("a", failed: false, isShuttingDown: true).isEmpty)
        #expect(table.reload([Self.bot("c")], isShuttingDown: true).isEmpty)
    }

    @Test func botWaitsForTheStateOfAStoppingOne() {
        func bot(_ name: String) -> BotTable.Bot {
            BotTable.Bot(name: name, signature: [:], rulesHash: "1", file: "g.sqlite")
        }
        var table = BotTable([bot("a")], policy: .continue)
        #expect(table.begin() == [.start("a")])
        #expect(table.reload([bot("b")], isShuttingDown: false) == [.hide("a"), .stop("a")])
        #expect(table.ended("a", failed: false, isShuttingDown: false) == [.hide("a"), .start("b")])
    }

    @Test func failedAndRemovedBotIsForgotten() {
        var table = Self.table("a", "b")
        _ = table.ended("a", failed: true, isShuttingDown: false)
        #expect(table.reload([Self.bot("b")], isShuttingDown: false) == [.hide("a")])
        #expect(table.failed.isEmpty)
    }

    @Test func botThatFailsDuringItsRemovalLeavesTheOthers() {
        var table = Self.table("a", "b", policy: .stop)
        #expect(table.reload([Self.bot("b")], isShuttingDown: false) == [.hide("a"), .stop("a")])
        #expect(table.ended("a", failed: true, isShuttingDown: false) == [.report("a"), .hide("a")])
        #expect(table.failed.isEmpty && !table.isDone)
    }
}
