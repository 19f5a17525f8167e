/// A server's validators for its last download, so that unchanged content need not be downloaded again.
package struct DownloadRecord: Sendable, Equatable {
    /// The header `ETag`.
    package var etag: String?
    /// The header `Last-Modified`.
    package var lastModified: String?
    /// `sha1-` and base64.
    package let sha1: String
    /// `md5-` and base64.
    package let md5: String
    package let length: Int
    package let contentType: String

    package init(
        etag: String? = nil, lastModified: String? = nil, sha1: String, md5: String, length: Int, contentType: String
    ) {
        (self.etag, self.lastModified, self.sha1, self.md5, self.length, self.contentType) = (
            etag, lastModified, sha1, md5, length, contentType
        )
    }

    /// Whether the server can confirm that the content is unchanged.
    package var canBeValidated: Bool { etag != nil || lastModified != nil }
}

// The downloads of earlier runs. Losing them is harmless: the content is downloaded again.
extension Ledger {
    /// The maximum number of downloads that are remembered.
    private static let downloadLimit = 100_000

    /// - Parameter client: As whom the bot asks. Empty: without a token.
    package func download(of url: String, client: String) async throws(StateError) -> DownloadRecord? {
        try await read { database in
            try database.rows(
                """
                    SELECT etag, last_modified, sha1, md5, length, content_type FROM download
                    WHERE url = ? AND token_file = ?
                """, [TextAsBytes(url), TextAsBytes(client)]
            ).first.map { row in
                DownloadRecord(
                    etag: row["etag"], lastModified: row["last_modified"], sha1: row["sha1"], md5: row["md5"],
                    length: row["length"], contentType: row["content_type"])
            }
        }
    }

    /// Stores or deletes a download record. Beyond 100,000, the oldest are deleted.
    ///
    /// - Parameter record: Nil: the server sends no validators.
    package func note(_ record: DownloadRecord?, of url: String, client: String) async throws(StateError) {
        try await write { database in
            let key: [(any StateArgument)?] = [TextAsBytes(url), TextAsBytes(client)]
            try database.execute("DELETE FROM download WHERE url = ? AND token_file = ?", key)
            guard let record else { return }
            try database.execute(
                """
                INSERT INTO download (url, token_file, etag, last_modified, sha1, md5, length, content_type)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                key
                    + [
                        record.etag, record.lastModified, record.sha1, record.md5, record.length, record.contentType,
                    ])
            try database.execute(
                "DELETE FROM download WHERE rowid <= (SELECT MAX(rowid) FROM download) - ?", [Self.downloadLimit])
        }
    }
}
