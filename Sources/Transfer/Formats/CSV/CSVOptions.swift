/// How a table is written.
package struct CSVOptions: Sendable, Equatable {
    /// The columns in order. Nil: all members of the documents.
    package var fields: CSVFields?
    /// Default: a comma.
    package var delimiter = CSVDelimiter.comma

    /// All members, with commas.
    package init() {}
}
