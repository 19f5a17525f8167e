internal import Logging
internal import LosslessJSON

/// Writes the documents of an export as CSV.
struct ExportTable {
    private let options: CSVOptions
    private let logger: Logger

    init(_ options: CSVOptions, logger: Logger) {
        self.options = options
        self.logger = logger
    }

    /// Reads the documents twice: once for the columns, once for the rows.
    ///
    /// - Returns: How many rows were written.
    func write(_ documents: WrittenDocuments, to output: ExportOutput) throws -> Int {
        do {
            var columns = CSVColumns(options.fields)
            try documents.read { try columns.observe(WrittenDocuments.document($0).root) }
            var table = try CSVWriter(columns, delimiter: options.delimiter)
            var text: [UInt8] = []
            table.writeHeader(to: &text)
            var count = 0
            try documents.read { line in
                try table.write(WrittenDocuments.document(line).root, to: &text)
                count += 1
                guard text.count >= ExportOutput.pieceSize else { return }
                try output.write(text)
                text.removeAll(keepingCapacity: true)
            }
            try output.write(text)
            if count > 0, case let unused = columns.unused, !unused.isEmpty {
                logger.warning(
                    "no document has a value in a column of --fields; is its name right?",
                    metadata: ["columns": "\(unused.joined(separator: ","))"])
            }
            return count
        } catch let error as CSVError {
            throw TransferError(.invalid, error.description)
        }
    }
}
