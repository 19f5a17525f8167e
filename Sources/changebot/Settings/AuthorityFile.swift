internal import Encodings
internal import FoundationEssentials

/// The file of `--ca-file`, or of `token_ca_file`. It is checked before the first request, because the TLS library's error comes late and says
/// little.
enum AuthorityFile {
    /// - Parameter option: The option that names the file, for messages.
    /// - Returns: The path, if certificates can be read there.
    /// - Throws: ``CommandError`` with 66 if the file can't be read, 78 if it has no certificate.
    static func checked(_ path: String, option: String) throws(CommandError) -> String {
        let pem = try read(path, option: option)
        guard !pem.holdsCertificate else { return path }
        let remedy =
            pem.looksLikeDER
            ? "it looks like DER; convert it to PEM with 'openssl x509 -inform der -in FILE -out FILE.pem'"
            : "it must be a PEM file, with lines '-----BEGIN CERTIFICATE-----'"
        throw CommandError(.badConfiguration, "--\(option): there is no certificate in \(path): \(remedy)")
    }

    /// The content of a PEM file. Blocks.
    ///
    /// - Throws: ``CommandError`` with 66 if the file can't be read.
    static func read(_ path: String, option: String) throws(CommandError) -> PEMText {
        do { return PEMText(Array(try Data(contentsOf: URL(fileURLWithPath: path)))) } catch {
            throw CommandError(.missingInput, "--\(option): can't read \(path): \(reason(error, path))")
        }
    }

    private static func reason(_ error: any Error, _ path: String) -> String {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            return "there is no such file"
        }
        if isFolder { return "it is a folder" }
        return FileManager.default.isReadableFile(atPath: path) ? "\(error)" : "this user may not read it"
    }
}
