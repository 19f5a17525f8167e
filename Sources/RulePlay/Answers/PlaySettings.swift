package import Rules

/// Everything that a playground needs.
package struct PlaySettings: Sendable {
    /// Reads documents of a gateway that match a selector, at most as many as the limit. Never writes.
    ///
    /// - Throws: A description that names the request that failed.
    package typealias Picking = @Sendable (_ selector: String, _ limit: Int) async throws -> PickedDocuments

    /// The version of the program.
    package var version: String
    /// The rule files. Never empty.
    package var files: [PlayFile]
    /// The page: HTML with one `<style>` and one `<script>`.
    package var page: [UInt8]
    /// The JSON Schema of rule files.
    package var schema: [UInt8]
    package var recipes: [PlayRecipe] = []
    package var library = EditorLibrary()
    /// The sample documents at the start.
    package var samples = SampleStore()
    /// The address of the gateway, and how to pick documents from it. Nil without a gateway.
    package var gateway: (url: String, pick: Picking)?
    /// Warnings about this machine, such as files of `emit` that can't be written.
    package var furtherWarnings: @Sendable (RuleFileSet) -> [RuleWarning] = { _ in [] }
    /// Shows the differences between documents.
    package var diff: DocumentDiffing
    /// Writes a rule file as a whole.
    package var write: FileWriting
    /// `$now` if the page does not choose it, in seconds since 1970.
    package var now: @Sendable () -> Int

    package init(
        version: String, files: [PlayFile], page: [UInt8], schema: [UInt8], diff: @escaping DocumentDiffing,
        write: @escaping FileWriting, now: @escaping @Sendable () -> Int
    ) {
        (self.version, self.files, self.page, self.schema) = (version, files, page, schema)
        (self.diff, self.write, self.now) = (diff, write, now)
    }
}
