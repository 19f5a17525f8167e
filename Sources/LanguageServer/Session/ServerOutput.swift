package import RuleEditing

/// What the server does because of a message.
package enum ServerOutput: Sendable {
    /// Send this message.
    case send([UInt8])
    /// Compute the diagnostics of a document, unless a newer version has arrived by then.
    case diagnose(uri: String)
    /// Run a test, and answer the request.
    case run(TestRequest)
    /// End the program.
    case exit(code: Int32)
}

/// A request to run a test of a version of a document.
package struct TestRequest: Sendable {
    /// The id of the request, as JSON.
    let id: [UInt8]
    let uri: String
    let version: Int
    let file: EditedRuleFile
    /// The index of the test in the file.
    let index: Int

    /// - Parameter now: `$now` if the test does not set it, in seconds since 1970.
    package func outcome(now: Int) async -> EditedRuleFile.TestOutcome { await file.run(test: index, now: now) }
}
