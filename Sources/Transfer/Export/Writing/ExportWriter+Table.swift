internal import Logging
internal import LosslessJSON

extension ExportWriter {
    /// Writes the documents as CSV.
    ///
    /// - Parameter read: Reads all documents, each time that it is called: once for the columns, once for the records.
    /// - Returns: How many there are.
    func writeTable(
        to output: ExportOutput, _ read: ((ArraySlice<UInt8>) throws -> Void) throws -> Void
    ) throws -> Int {
        do {
            var columns = CSVColumns(settings.table.fields)
            try read { try columns.observe(Self.document($0).root) }
            var table = try CSVWriter(columns, delimiter: settings.table.delimiter)
            var text: [UInt8] = []
            table.writeHeader(to: &text)
            var count = 0
            try read { line in
                try table.write(Self.document(line).root, to: &text)
                count += 1
                guard text.count >= Self.pieceSize else { return }
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
        } catch let fault as CSVFault {
            throw TransferError(.invalid, fault.description)
        }
    }
}
