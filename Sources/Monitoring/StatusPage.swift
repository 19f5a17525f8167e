internal import Encodings

/// The page at `/`: one file without external resources.
struct StatusPage: Sendable {
    let html: [UInt8]
    /// Allows only the page's own style and script, so that nothing in a document can be loaded or run.
    let policy: String

    /// - Parameter html: With one `<style>` and one `<script>`.
    init(html: [UInt8]) {
        self.html = html
        let text = String(decoding: html, as: UTF8.self)
        policy =
            "default-src 'none'; img-src data:; connect-src 'self'; style-src \(Self.source("style", text)); "
            + "script-src \(Self.source("script", text)); base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    /// - Note: Source: Content Security Policy Level 3, section 2.3.1, hash-source.
    private static func source(_ tag: String, _ html: String) -> String {
        guard let opening = html.firstRange(of: "<\(tag)>"), let closing = html.firstRange(of: "</\(tag)>") else {
            return "'none'"
        }
        let content = Array(html[opening.upperBound..<closing.lowerBound].utf8)
        return "'sha256-\(Base64.text(Digest.sha256(content)))'"
    }
}
