/// How a table is written.
package struct CSVOptions: Sendable, Equatable {
    /// The columns, in their order. Nil: all that the documents have.
    package var fields: CSVFields?
    package var delimiter = CSVDelimiter.comma

    package init() {}
}
