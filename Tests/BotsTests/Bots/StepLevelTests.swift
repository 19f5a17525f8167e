import DocumentFlow
import Logging
import Testing

@Suite struct StepLevelTests {
    /// With many databases, each of them waits for another member, or counts its documents, again and again.
    @Test func stepsOfOneOfManyDatabasesAreDetails() {
        var logger = LoggedLines().logger
        #expect(logger.stepLevel == .notice)
        logger[metadataKey: LogKey.database] = "userdb-1"
        #expect(logger.stepLevel == .info)
    }
}
