internal import HTTPServing
internal import LosslessJSON
internal import RuleEditing
internal import Rules

extension PlayAnswers {
    /// A file as it is on disk, and what the page needs to begin.
    func open(_ body: RequestBody) throws(Refusal) -> Answer {
        let file = try file(body)
        let content = file.read()
        let text = Self.shownText(content, file)
        if settings.samples.count == 0, let text { addFirstDocuments(text, file, isExample: content == .missing) }
        return Self.answer { writer in
            writer.member("version", string: settings.version)
            writer.name("files")
            writer.array { writer in for file in settings.files { writer.string(file.path) } }
            writer.member("text", optional: text)
            writer.member("isNew", bool: content == .missing)
            writer.member("fileVersion", string: content.version)
            if case .unreadable(let reason) = content { writer.member("unreadable", string: reason) }
            writer.name("library")
            writer.array { writer in
                for file in settings.library.isInstalled ? EditorLibrary.files : [] { writer.string(file) }
            }
            writer.member("gateway", optional: settings.gateway?.url)
            writer.member("samples", integer: settings.samples.count)
            writer.member("now", integer: settings.now())
            settings.samples.unreadable.write(to: &writer)
            writer.name("recipes")
            writer.array { writer in for recipe in settings.recipes { Self.write(recipe, to: &writer) } }
        }
    }

    private static func write(_ recipe: PlayRecipe, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", string: recipe.name)
            writer.member("title", string: recipe.title)
            writer.name("parameters")
            writer.array { writer in
                for parameter in recipe.parameters {
                    writer.object { writer in
                        writer.member("name", string: parameter.name)
                        writer.member("value", string: parameter.value)
                        writer.member("explanation", string: parameter.explanation)
                    }
                }
            }
        }
    }

    /// The text for the editor. Nil if the file can't be edited.
    private static func shownText(_ content: PlayFile.Content, _ file: PlayFile) -> String? {
        switch content {
        case .missing: file.path.hasSuffix(".json") ? FirstRules.json : FirstRules.yaml
        case .text(let text): LineEndings(text).plain
        case .unreadable: nil
        }
    }

    /// Adds the documents of the tests of a text, which are the samples that fit best, or else some examples.
    private func addFirstDocuments(_ text: String, _ file: PlayFile, isExample: Bool) {
        addTestedDocuments(text, file, group: isExample ? "Example" : Self.group(file), isExample: isExample)
        guard settings.samples.count == 0 else { return }
        for text in FirstRules.documents {
            guard let document = try? JSONText(text) else { continue }
            settings.samples.add(Sample(document, before: nil, origin: "example", group: "Example", isExample: true))
        }
    }

    private static func group(_ file: PlayFile) -> String { "Tests of \(file.path)" }

    /// Adds the documents of the tests that are no samples yet.
    private func addTestedDocuments(_ text: String, _ file: PlayFile, group: String, isExample: Bool = false) {
        let tested = EditedRuleFile(path: file.path, text: text, in: context).read().rules.testedDocuments
        let known = settings.samples.all.prefix(1000)
        for document in tested {
            let isKnown = known.contains { sample in
                sample.document.bytes == document.given.bytes && sample.before?.bytes == document.before?.bytes
            }
            if isKnown { continue }
            settings.samples.add(
                Sample(
                    document.given, before: document.before,
                    origin: (isExample ? "example: " : "test: ") + document.test, group: group,
                    isExample: isExample))
        }
    }

    /// Adds the documents of the tests of a text.
    func addTested(_ body: RequestBody) throws(Refusal) -> Answer {
        let file = try file(body)
        addTestedDocuments(try body.text("text"), file, group: Self.group(file))
        return Self.answer { $0.member("total", integer: settings.samples.count) }
    }

    func save(_ body: RequestBody) async throws(Refusal) -> Answer {
        let file = try file(body)
        switch await saver.save(try body.text("text"), in: file, over: try body.text("fileVersion")) {
        case .saved(let version): return Self.answer { $0.member("fileVersion", string: version) }
        case .failed(let reason): throw Refusal(422, reason)
        case .conflict(let content):
            var answer = Self.answer { writer in
                writer.member("error", string: content.conflict(file.path))
                writer.member("isDeleted", bool: content == .missing)
                writer.member("fileVersion", string: content.version)
                if case .text(let text) = content { writer.member("text", string: LineEndings(text).plain) }
            }
            answer.status = 409
            return answer
        }
    }

    private func recipe(_ body: RequestBody) throws(Refusal) -> PlayRecipe {
        let name = try body.text("name")
        guard let recipe = settings.recipes.first(where: { $0.name == name }) else {
            throw Refusal(404, "there is no recipe '\(name)'")
        }
        return recipe
    }

    /// The values that are suggested for a recipe now, by parameter.
    func listChoices(_ body: RequestBody) throws(Refusal) -> Answer {
        let (file, recipe) = (try file(body), try recipe(body))
        return Self.answer { writer in
            writer.name("choices")
            writer.object { writer in
                for parameter in recipe.parameters {
                    writer.name(parameter.name)
                    writer.array { writer in for name in parameter.choices(file.path) { writer.string(name) } }
                }
            }
        }
    }

    func addRecipe(_ body: RequestBody) throws(Refusal) -> Answer {
        let (file, recipe) = (try file(body), try recipe(body))
        let values = body.texts("values")
        try recipe.check(values, file.path)
        let made = recipe.text(values, file.path)
        let addition = RuleFileAddition(path: file.path, bytes: Array(try body.text("text").utf8))
        let text: [UInt8]
        do throws(RuleFileAddition.Refusal) {
            text = try addition.adding(rulesOf: Array(made.utf8))
        } catch {
            throw Refusal(422, error.description)
        }
        let added: [String]
        do { added = try recipe.addFiles(values, file.path) } catch { throw Refusal(422, "\(error)") }
        let before = settings.samples.count
        addTestedDocuments(made, file, group: recipe.group(values))
        return Self.answer { writer in
            writer.member("text", string: String(decoding: text, as: UTF8.self))
            writer.member("addedSamples", integer: settings.samples.count - before)
            writer.name("files")
            writer.array { writer in for name in added { writer.string(name) } }
        }
    }
}

extension PlayFile.Content {
    /// What has happened to a file that is no longer as the page knows it, and what to do.
    fileprivate func conflict(_ path: String) -> String {
        switch self {
        case .missing where !PlayFile(path: path).hasFolder:
            "'\(path)' was deleted with its folder after this page opened or saved it; create the folder and then the file "
                + "with your text, or download your text"
        case .missing:
            "'\(path)' was deleted after this page opened or saved it; create it again with your text, or download your "
                + "text"
        case .text: "another program has changed '\(path)'; load its text, or keep yours"
        case .unreadable(let reason): reason
        }
    }
}

/// What the page shows for a file that does not exist yet.
enum FirstRules {
    static let yaml = """
        # Each rule says which documents it is for, and what they need. A comment begins with #.
        version: 1

        rules:
          - name: done-is-complete               # a name of your own
            when:                                # the documents that the rule is for
              type: task
              done: true
              state: { $exists: false }          # the rule must not fire again after it has written
            then:
              - merge: { state: complete }       # what is written into them

        tests:
          - name: a task that is done is complete
            given: { _id: t1, type: task, done: true }
            expect: { patch: [{ op: add, path: /state, value: complete }] }
          - name: an open task stays as it is
            given: { _id: t2, type: task, done: false }
            expect: { fired: [] }
          - name: a task with a state stays as it is
            given: { _id: t3, type: task, done: true, state: archived }
            expect: { fired: [] }
          - name: a document of another type stays as it is
            given: { _id: p1, type: product, done: true }
            expect: { fired: [] }

        """

    static let json = """
        {
          "version": 1,
          "rules": [
            {
              "name": "done-is-complete",
              "when": { "type": "task", "done": true, "state": { "$exists": false } },
              "then": [{ "merge": { "state": "complete" } }]
            }
          ],
          "tests": [
            {
              "name": "a task that is done is complete",
              "given": { "_id": "t1", "type": "task", "done": true },
              "expect": { "patch": [{ "op": "add", "path": "/state", "value": "complete" }] }
            }
          ]
        }

        """

    static let documents = [
        #"{"_id":"task.1","type":"task","task":"Apples","complete":true}"#,
        #"{"_id":"product.1","type":"product","title":"apple","price":2}"#,
        #"{"_id":"order.1","type":"order","lines":[{"count":2,"price":40},{"count":1,"price":799}]}"#,
    ]
}
