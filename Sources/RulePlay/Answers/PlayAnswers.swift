package import HTTPServing
package import LosslessJSON
internal import RuleEditing
internal import Rules

/// Answers the requests of the page. Independent of sockets. Writes the given rule files when the page saves them, and
/// creates the pictures of a recipe beside them when it is added. Writes nothing else.
package struct PlayAnswers: Sendable {
    /// The maximum number of bytes of a request: a text in which every character is escaped, and a document.
    static let bodyLimit = 6 * PlayFile.lengthLimit + 2 * SampleStore.typedLimit

    let settings: PlaySettings
    private let requestGuard: RequestGuard
    private let page: SelfContainedPage
    let context: EditingContext
    let reader: TextReader
    let latest = LatestRequests()
    let saver: FileSaver

    package init(_ settings: PlaySettings, token: PlayToken) throws(JSONError) {
        self.settings = settings
        requestGuard = RequestGuard(token: token)
        page = SelfContainedPage(html: settings.page, hasLibraries: settings.library.isInstalled)
        context = try EditingContext(schema: settings.schema, furtherWarnings: settings.furtherWarnings)
        reader = TextReader(context, files: settings.files.map(\.path))
        saver = FileSaver(settings.write)
    }

    package func answer(_ request: Request) async -> Answer {
        var answer = await unsecuredAnswer(request).secured
        answer.fields += [
            HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
            HTTPField("Cross-Origin-Opener-Policy", "same-origin"), HTTPField("X-Frame-Options", "DENY"),
        ]
        return answer
    }

    private func unsecuredAnswer(_ request: Request) async -> Answer {
        do throws(Refusal) {
            if let refusal = requestGuard.refusal(request) { throw refusal }
            let path = request.encodedPath.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
            guard path.hasPrefix("/api/") else { return try publicAnswer(request.method, path) }
            if let refusal = requestGuard.refusalOfData(request) { throw refusal }
            return try await dataAnswer(String(path.dropFirst("/api/".count)), try RequestBody(request))
        } catch {
            return Self.answer(error)
        }
    }

    /// The page and the editor's library, which contain no data.
    private func publicAnswer(_ method: String, _ path: String) throws(Refusal) -> Answer {
        guard ["GET", "HEAD"].contains(method) else { throw Refusal(405, "only GET is allowed", allow: "GET, HEAD") }
        if path == "/" { return .page(page) }
        if let answer = settings.library.answer(path) { return answer }
        throw Refusal(404, "unknown path; the page is at /")
    }

    private func dataAnswer(_ name: String, _ body: RequestBody) async throws(Refusal) -> Answer {
        switch name {
        case "open": try open(body)
        case "evaluate": try evaluate(body)
        case "complete": try complete(body)
        case "hover": try hover(body)
        case "save": try await save(body)
        case "recipe": try addRecipe(body)
        case "choices": try listChoices(body)
        case "test": try await addTest(body)
        case "samples": listSamples(body)
        case "sample": try showSample(body)
        case "change": try changeSample(body)
        case "tested": try addTested(body)
        case "clear": clearSamples(body)
        case "pick": try await pickSamples(body)
        default: throw Refusal(404, "unknown request '\(name)'")
        }
    }

    static func answer(_ refusal: Refusal) -> Answer {
        var writer = JSONWriter()
        writer.object { $0.member("error", string: refusal.reason) }
        var answer = Answer.json(writer.bytes, status: refusal.status)
        if let allow = refusal.allow { answer.fields.append(HTTPField("Allow", allow)) }
        return answer
    }

    static func answer(_ members: (inout JSONWriter) -> Void) -> Answer {
        var writer = JSONWriter()
        writer.object(members)
        return .json(writer.bytes)
    }

    /// The file that a request names by its index.
    func file(_ body: RequestBody) throws(Refusal) -> PlayFile {
        let index = try body.number("file")
        guard settings.files.indices.contains(index) else { throw Refusal(404, "there is no such file") }
        return settings.files[index]
    }
}
