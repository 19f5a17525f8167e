import DocumentFlow
import GatewayClient
import LosslessJSON
import Testing

@testable import Bots
@testable import GatewayClient

/// What a run reports about itself, during the run and after it.
@Suite struct RunReportTests {
    @Test func reportIsEmptyBeforeTheFirstContact() async {
        let report = RunReport()
        #expect(await report.counters() == RunCounters())
        let summary = await report.summary(exitCode: 69)
        #expect(summary.lastSequence == nil && summary.exitCode == 69 && !summary.isDryRun)
        #expect(await report.expectedDocuments == nil)
    }

    @Test func feedReportsItsPosition() async {
        let report = RunReport()
        await report.watch(RunProgress(start: sequence(5)))
        #expect(await report.summary(exitCode: 0).lastSequence == sequence(5))
        #expect(await report.summary(exitCode: 0, isDryRun: true).isDryRun)
    }

    /// A pass over all documents has no sequence.
    @Test func reportWithoutAFeedHasNoSequence() async {
        let report = RunReport()
        await report.watch(RunProgress(start: sequence(5)), hasSequence: false)
        await report.expect(documents: 7)
        #expect(await report.summary(exitCode: 0).lastSequence == nil)
        #expect(await report.expectedDocuments == 7)
    }

    /// After a reset, the next delivery continues the counts of the previous one, and nothing counts twice.
    @Test func countsContinueAfterAReset() async {
        let report = RunReport()
        await report.noteContactRetry()
        let first = RunProgress(start: sequence(5))
        await report.watch(first)
        await first.count { ($0.written, $0.traffic.retries) = (3, 2) }
        #expect(await report.deliveredSoFar().traffic.retries == 2)
        let second = RunProgress(start: .start, counters: await report.deliveredSoFar())
        await report.watch(second)
        await second.count { $0.written += 1 }
        await report.noteContactRetry()
        let counters = await report.counters()
        #expect(counters.written == 4 && counters.traffic.retries == 4)
        #expect(await report.summary(exitCode: 0).counters == counters)
        #expect(await report.summary(exitCode: 0).lastSequence == .start)
    }

    /// Sync Gateway reports sequence 0 while it is offline.
    @Test(arguments: [
        (#"{"db_name":"a","update_seq":5,"state":"Online"}"#, true),
        (#"{"db_name":"a","update_seq":0,"state":"Offline"}"#, false),
        (#"{"db_name":"a","state":"Online"}"#, false), (#"{"db_name":"a","update_seq":"7-g1"}"#, true),
    ])
    func newestSequenceIsReadOnlyFromAnOnlineDatabase(answer: String, tells: Bool) throws {
        let json = try #require(SmallJSON(answer.utf8))
        let info = try #require(DatabaseInfo(json))
        #expect(info.hasNewestSequence == tells)
    }
}
