import Foundation
import LosslessJSON
import RulePlay
import TestKit
import Testing

@testable import changebot

/// The page of `rules play`, as a browser shows it: with the editor that Debian installs, if it is there, and without.
@Suite(.serialized, .enabled(if: Browser.driver.isWanted), .sharedBrowser, .limitedParallelism(minutes: 10))
struct PlaygroundTests {
    private static let editors = EditorLibrary().isInstalled ? [true, false] : [false]

    private static let rules = """
        # The first line stays.
        version: 1
        rules:
          - name: stamp
            when: { type: task }
            # here
            then: [{ merge: { done: true } }]
        """

    /// Calls `body` with a browser that shows the page of a rule file.
    ///
    /// - Parameter second: The text of a second rule file. Nil: there is none.
    private func whileOpen(
        _ hasLibrary: Bool, rules: String? = rules, second: String? = nil,
        documents: [String] = [#"{"_id":"a","type":"task"}"#],
        _ body: (_ file: String, Browser) async throws -> Void
    ) async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            if let rules { try rules.write(toFile: file, atomically: true, encoding: .utf8) }
            let others = second == nil ? [] : [file + "-second.yaml"]
            if let second { try second.write(toFile: others[0], atomically: true, encoding: .utf8) }
            try await Playground.serve(file, others: others, hasLibrary: hasLibrary, documents: documents) { url in
                try await Browser.with { browser in
                    try await browser.open(url)
                    try await browser.waitForEvaluation()
                    #expect(
                        try await browser.value("document.querySelector('.CodeMirror') !== null").bool == hasLibrary)
                    try await body(file, browser)
                    // The browser logs each refused request.
                    let complaints = try await browser.complaints().filter { !$0.contains("Failed to load resource") }
                    #expect(complaints == [])
                    // So that nothing asks whether to leave the page.
                    _ = try await browser.value("state.isEditable = false")
                }
            }
        }
    }

    private func text(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

    @Test(arguments: editors) func ruleIsTypedTestedAndSaved(_ hasLibrary: Bool) async throws {
        try await whileOpen(hasLibrary) { file, browser in
            try await browser.wait(until: #"at('result').textContent.includes('+   "done": true')"#)
            #expect(try await browser.text("at('why').textContent").contains(#"type: { $eq: "task" }"#))
            try await browser.wait(until: "at('counted').textContent !== ''")
            try await browser.type("unles: { done: true } ", line: 5, column: 4)
            try await browser.wait(until: "at('problems').textContent.includes(\"'unles'\")")
            // Regression: results of the earlier text looked like those of this one.
            let old = "[...document.querySelectorAll('.old')].map((part) => part.id).join()"
            #expect(try await browser.text(old) == "testPart,resultPart,whyPart,countPart")
            #expect(try await browser.value("rows.get(0).lastChild.textContent === 'old: stamp'").bool == true)
            #expect(try await browser.value("at('makeTest').disabled").bool == true)
            _ = try await browser.value("at('problems').querySelector('button').click()")
            #expect(try await browser.text("editor.cursor().line") == "5")
            try await browser.expectGoodLayout("playground-error-\(hasLibrary)")
            try await browser.type("s", line: 5, column: 9)
            try await browser.wait(until: "at('problemCount').textContent === 'none'")
            try await browser.wait(until: "!at('makeTest').disabled")
            try await browser.wait(until: "document.querySelector('.old') === null")
            #expect(try await browser.value("document.body.innerText.includes('Old: from')").bool == false)
            _ = try await browser.value("at('testForm').requestSubmit()")
            try await browser.wait(until: "at('coverage').textContent.startsWith('1 test of 1 pass')")
            #expect(try await browser.text("at('state').textContent") == "unsaved changes")
            #expect(try text(file) == Self.rules)
            _ = try await browser.value("at('save').click()")
            try await browser.wait(until: "at('state').textContent === 'saved'")
            let saved = try text(file)
            #expect(saved.hasPrefix(Self.rules.replacing("    # here", with: "    unless: { done: true } # here")))
            #expect(saved.contains("given: { _id: a, type: task }"))
            try await browser.expectGoodLayout("playground-\(hasLibrary)")
        }
    }

    /// The task of someone who has never seen a rule file.
    @Test(arguments: editors) func recipesMakeATestedFile(_ hasLibrary: Bool) async throws {
        try await whileOpen(hasLibrary, rules: nil, documents: []) { file, browser in
            #expect(try await browser.value("at('howto').open").bool == true)
            for (recipe, values) in [
                ("attach-picture", [:]), ("attach-picture", ["name": "coffee", "picture": "coffee.png"]),
                ("attach-picture", ["name": "potatoes", "picture": "potatoes.png"]), ("derive-total", [:]),
                ("notify-when-done", ["url": "https://example.org/done"]),
            ] as [(String, [String: String])] {
                _ = try await browser.value("chooseRecipe('\(recipe)')")
                let fields = try #require(Recipe.all.first { $0.name == recipe }).parameters
                try await browser.expectFocus("parameter-\(fields[0].name)")
                for (name, value) in values {
                    _ = try await browser.value("at('parameter-\(name)').value = '\(value)'")
                }
                _ = try await browser.value("at('recipeForm').requestSubmit()")
                try await browser.wait(until: "at('recipeForm').hidden")
                if recipe == "attach-picture", values.isEmpty {
                    // Regression: the documents of the example stayed.
                    try await browser.wait(
                        until: "at('recipeNote').textContent.includes('the example and its 4 documents')")
                    try await browser.wait(until: "state.total === 4 && state.selected === 0")
                    #expect(try await browser.value("at('samples').textContent.includes('example')").bool == false)
                }
            }
            try await browser.wait(until: "at('coverage').textContent === '21 tests of 21 pass; they cover 100 %'")
            #expect(
                try await browser.text(
                    "[...document.querySelectorAll('.group')].map((item) => item.textContent).join('|')")
                    == "Recipe attach-picture|Recipe attach-picture (name: coffee, picture: coffee.png)|"
                    + "Recipe attach-picture (name: potatoes, picture: potatoes.png)|Recipe derive-total|"
                    + "Recipe notify-when-done (url: https://example.org/done)")
            #expect(try await browser.text("at('problemCount').textContent") == "none")
            try await browser.choose("apple gets its picture")
            try await browser.wait(until: "at('result').querySelector('img')?.naturalWidth > 0")
            try await browser.choose("becomes complete is reported")
            try await browser.wait(until: "at('result').textContent.includes('https://example.org/done')")
            try await browser.expectGoodLayout("playground-recipes-\(hasLibrary)")
            _ = try await browser.value("at('save').click()")
            try await browser.wait(until: "at('state').textContent === 'saved'")
            let result = try await Program.run(["rules", "test", file])
            #expect(result.code == 0, "\(result.output)\(result.errors)")
        }
    }

    @Test(arguments: editors) func picturesBesideTheFileAreOffered(_ hasLibrary: Bool) async throws {
        try await whileOpen(hasLibrary) { file, browser in
            let name = "<img src=x onerror='window.isRun=1'>.png"
            for name in ["mine.png", name] {
                try Data("x".utf8).write(to: URL(fileURLWithPath: file.dropLast("r.yaml".count) + name))
            }
            _ = try await browser.value("chooseRecipe('attach-picture')")
            try await browser.wait(until: "document.querySelectorAll('.choices button').length === 5")
            #expect(try await browser.text("at('parameter-picture').list.options[1].value") == "mine.png")
            try await browser.expectGoodLayout("playground-pictures-\(hasLibrary)")
            _ = try await browser.value("at('parameter-picture').value = 'none.png'")
            _ = try await browser.value("at('recipeForm').requestSubmit()")
            try await browser.wait(until: "at('recipeError').textContent.includes('or choose one of ')")
            _ = try await browser.value("document.querySelectorAll('.choices button')[1].click()")
            _ = try await browser.value("at('recipeForm').requestSubmit()")
            try await browser.wait(until: "editor.text().includes('file: mine.png')")
            #expect(try await browser.value("window.isRun === undefined").bool == true)
        }
    }

    @Test(arguments: editors) func longDocumentDoesNotHoldUpOthers(_ hasLibrary: Bool) async throws {
        let long = String(repeating: "x", count: 2 << 20)
        try await whileOpen(
            hasLibrary, documents: [#"{"_id":"long","type":"task","x":"\#(long)"}"#, #"{"_id":"a","type":"task"}"#]
        ) { _, browser in
            let results = "[0, 1].map((number) => rows.get(number).lastChild.textContent).join()"
            _ = try await browser.value("void evaluate()")
            try await browser.wait(until: "\(results) === 'deciding…,stamp'")
            #expect(try await browser.value("at('result').textContent.includes('are deciding')").bool == true)
            try await browser.wait(until: "\(results) === 'stamp,stamp'")
            try await browser.wait(until: "at('result').textContent.includes('too many to be compared here')")
            #expect(try await browser.value("at('document').value.length < 20000").bool == true)
            #expect(
                try await browser.value("at('documentError').textContent.includes('Only the beginning')").bool == true)
            try await browser.expectGoodLayout("playground-long-\(hasLibrary)")
        }
    }

    @Test(arguments: editors) func textStaysWhenTheFileCantBeWritten(_ hasLibrary: Bool) async throws {
        try await whileOpen(hasLibrary) { file, browser in
            try await browser.type("# mine ", line: 5, column: 4)
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
            _ = try await browser.value("at('save').click()")
            try await browser.wait(until: "at('conflictText').textContent.includes('is a folder now')")
            #expect(try await browser.text("at('keepMine').textContent") == "Save again")
            #expect(try await browser.value("at('loadTheirs').hidden").bool == true)
            #expect(try await browser.value("editor.text().includes('# mine')").bool == true)
            try await browser.expectGoodLayout("playground-folder-\(hasLibrary)")
            try FileManager.default.removeItem(atPath: file)
            _ = try await browser.value("at('keepMine').click()")
            try await browser.wait(until: "at('keepMine').textContent === 'Create it again with mine'")
            _ = try await browser.value("at('keepMine').click()")
            try await browser.wait(until: "at('state').textContent === 'saved'")
            #expect(try text(file).contains("# mine"))
            // Regression: a full stop followed the question mark.
            _ = try await browser.value("showConflict(new Failure(0, { error: 'is it still running?' }))")
            #expect(try await browser.text("at('conflictText').textContent") == "is it still running?")
        }
    }

    @Test(arguments: editors) func fileThatAnotherEditorChangedIsNotOverwritten(_ hasLibrary: Bool) async throws {
        try await whileOpen(hasLibrary) { file, browser in
            try await browser.type("# mine ", line: 5, column: 4)
            let theirs = "# theirs\n" + Self.rules
            try theirs.write(toFile: file, atomically: true, encoding: .utf8)
            _ = try await browser.value("at('save').click()")
            try await browser.wait(until: "!at('conflict').hidden")
            #expect(try text(file) == theirs)
            try await browser.expectFocus("keepMine")
            try await browser.expectGoodLayout("playground-conflict-\(hasLibrary)")
            _ = try await browser.value("at('loadTheirs').click()")
            try await browser.wait(until: "editor.text().startsWith('# theirs') && at('state').textContent === 'saved'")
            try await browser.type("# mine ", line: 6, column: 4)
            try FileManager.default.removeItem(atPath: file)
            _ = try await browser.value("at('save').click()")
            try await browser.wait(until: "at('conflictText').textContent.includes('was deleted')")
            #expect(try await browser.value("at('loadTheirs').hidden").bool == true)
            #expect(try await browser.text("at('keepMine').textContent") == "Create it again with mine")
            try "# again\n".write(toFile: file, atomically: true, encoding: .utf8)
            _ = try await browser.value("at('save').click()")
            try await browser.wait(until: "at('keepMine').textContent === 'Overwrite it with mine'")
            _ = try await browser.value("at('keepMine').click()")
            try await browser.wait(until: "at('state').textContent === 'saved'")
            #expect(try text(file) == theirs.replacing("    # here", with: "    # mine # here"))
        }
    }

    /// Regression: the text of the first file was put into the second one.
    @Test(arguments: editors) func additionDoesNotReachAnotherText(_ hasLibrary: Bool) async throws {
        let second = Self.rules.replacing("stamp", with: "second")
        try await whileOpen(hasLibrary, second: second) { file, browser in
            try await browser.wait(until: "!at('makeTest').disabled")
            for (button, note, name) in [
                ("testForm", "testNote", "test"), ("recipeForm", "recipeError", "recipe"),
            ] {
                _ = try await browser.value("(chooseRecipe('derive-total'), true)")
                try await browser.holdAnswers(name)
                _ = try await browser.value("at('\(button)').requestSubmit()")
                try await browser.wait(until: "isHeld")
                _ = try await browser.value(
                    "(at('file').value = 1 - state.file, at('file').dispatchEvent(new Event('change')))")
                try await browser.wait(until: "editor.text() === \((name == "test" ? second : Self.rules).jsonString)")
                _ = try await browser.value("release()")
                try await browser.wait(until: "at('\(note)').textContent.startsWith('Nothing was added')")
                #expect(try await browser.text("at('state').textContent") == "saved")
            }
            // What is typed meanwhile stays.
            try await browser.holdAnswers("test")
            _ = try await browser.value("at('testForm').requestSubmit()")
            try await browser.wait(until: "isHeld")
            try await browser.type("# mine ", line: 5, column: 4)
            _ = try await browser.value("(at('testNote').textContent = '', release())")
            try await browser.wait(until: "at('testNote').textContent.startsWith('Nothing was added')")
            _ = try await browser.value("(at('save').click(), at('save').click())")
            try await browser.wait(until: "at('state').textContent === 'saved'")
            #expect(try await browser.value("at('conflict').hidden").bool == true)
            #expect(try text(file) == Self.rules.replacing("    # here", with: "    # mine # here"))
            #expect(try text(file + "-second.yaml") == second)
        }
    }

    /// Regression: it was taken for the text of the other document, or was lost.
    @Test(arguments: editors) func typedDocumentIsKeptWhenAnotherIsChosen(_ hasLibrary: Bool) async throws {
        let documents = [#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"task"}"#]
        try await whileOpen(hasLibrary, documents: documents) { _, browser in
            let typed = #"{"_id":"a","type":"typed"}"#
            _ = try await browser.value(
                "(at('document').value = \(typed.jsonString), at('document').dispatchEvent(new Event('input')), select(1), true)"
            )
            try await browser.wait(until: "at('document').value === \(documents[1].jsonString)")
            _ = try await browser.value("(select(0), true)")
            try await browser.wait(until: "at('document').value === \(typed.jsonString)")
            _ = try await browser.value("(select(1), true)")
            try await browser.wait(until: "at('document').value === \(documents[1].jsonString)")
            // A new document is added once, although its second text comes before the first answer.
            _ = try await browser.value("(at('newDocument').click(), sendTyped(), documentTyped(), sendTyped(), true)")
            try await browser.wait(until: "state.selected === 2 && state.total === 3")
            _ = try await browser.value("(sendTyped().then(() => { window.isSent = true; }), true)")
            try await browser.wait(until: "window.isSent")
            #expect(try await browser.text("state.total") == "3")
        }
    }

    /// Regression: an invalid text was dropped when another document was chosen.
    @Test(arguments: editors) func invalidDocumentIsKeptWhenAnotherIsChosen(_ hasLibrary: Bool) async throws {
        let documents = [#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"task"}"#]
        try await whileOpen(hasLibrary, documents: documents) { _, browser in
            func write(_ text: String, after first: String = "0", then more: String) async throws {
                let text = text.jsonString
                _ = try await browser.value(
                    "(\(first), at('document').value = \(text), "
                        + "at('document').dispatchEvent(new Event('input')), \(more), true)")
            }
            let broken = #"{"_id":"a","type":}"#
            try await write(broken, then: "select(1)")
            try await browser.wait(until: "at('document').value === \(documents[1].jsonString)")
            try await browser.wait(until: "rows.get(0).textContent.includes('typed text is not valid')")
            #expect(try await browser.text("at('documentError').textContent") == "")
            _ = try await browser.value("(select(0), true)")
            try await browser.wait(until: "at('document').value === \(broken.jsonString)")
            try await browser.wait(until: "at('documentError').textContent.includes('not JSON')")
            try await write(documents[0], then: "sendTyped()")
            try await browser.wait(until: "!rows.get(0).textContent.includes('not valid')")
            // At once: soon after the click, the example in the field is sent.
            try await write("{ new", after: "at('newDocument').click()", then: "select(1)")
            try await browser.wait(until: "at('newDocument').textContent === 'Continue the new document'")
            _ = try await browser.value("at('newDocument').click()")
            try await browser.wait(until: "at('document').value === '{ new'")
            try await write(#"{"_id":"new"}"#, then: "sendTyped()")
            try await browser.wait(until: "at('newDocument').textContent === 'New document' && state.total === 3")
        }
    }

    /// Regression: parts of long lines could not be seen.
    @Test(arguments: editors) func longLinesWrapInANarrowWindow(_ hasLibrary: Bool) async throws {
        let long = String(repeating: "very-long-name-", count: 20)
        let rules = "version: 1\nrules:\n  - { name: a, when: { type: \(long) }, then: [{ merge: { \(long): 1 } }] }\n"
        try await whileOpen(hasLibrary, rules: rules) { _, browser in
            for width in [1440, 360] {
                try await browser.show(width: width)
                let isWhole = """
                    (() => {
                      const mirror = document.querySelector('.CodeMirror')?.CodeMirror;
                      if (!mirror) return at('text').scrollWidth <= at('text').clientWidth;
                      const edge = mirror.getWrapperElement().getBoundingClientRect().right;
                      const { height, clientHeight } = mirror.getScrollInfo();
                      const bar = document.querySelector('.CodeMirror-vscrollbar');
                      return [...document.querySelectorAll('.CodeMirror-line')].every((line) => line.getBoundingClientRect().right <= edge)
                        && (height > clientHeight) === (getComputedStyle(bar).display !== 'none');
                    })()
                    """
                try await browser.wait(until: isWhole)
            }
            try await browser.keepPicture("playground-narrow-\(hasLibrary)")
        }
    }

    @Test(arguments: editors) func hostileTextsAreShownAsText(_ hasLibrary: Bool) async throws {
        let hostile = BrowserTests.hostile
        let rules =
            "version: 1\nrules:\n"
            + hostile.map { text in
                "  - { name: \(text.jsonString), when: { text: \(text.jsonString) }, then: [{ merge: { done: \(text.jsonString) } }] }\n"
            }.joined()
        let documents = hostile.map { text in
            #"{"_id":\#(text.jsonString),"text":\#(text.jsonString),\#(("k" + text).jsonString):\#(text.jsonString)}"#
        }
        try await whileOpen(hasLibrary, rules: rules, documents: documents) { _, browser in
            for number in hostile.indices {
                _ = try await browser.value("select(\(number))")
                try await browser.wait(until: "at('document').value === \(documents[number].jsonString)")
                try await browser.wait(until: "at('result').textContent.includes(\(hostile[number].jsonString))")
            }
            let forbidden = "document.querySelectorAll('main script, main img, main iframe, main h1').length"
            #expect(try await browser.text(forbidden) == "0")
            #expect(try await browser.value("window.isRun === undefined").bool == true)
            try await browser.expectGoodLayout("playground-hostile-\(hasLibrary)")
        }
    }

    @Test(arguments: editors) func timeAndEarlierDocumentCanBeChosen(_ hasLibrary: Bool) async throws {
        let rules = """
            version: 1
            rules:
              - { name: remind, when: { due: { $exists: true } }, at: .due, then: [{ merge: { reminded: true } }] }
              - { name: report, when: { done: true }, on: [enter], then: [{ merge: { seen: true } }] }
            """
        let document = #"{"_id":"a","due":"2030-05-01T00:00:00Z","done":true}"#
        try await whileOpen(hasLibrary, rules: rules, documents: [document]) { _, browser in
            try await browser.wait(until: "at('result').textContent.includes('will be due: 2030-05-01T00:00:00Z')")
            _ = try await browser.value("at('nextTimer').click()")
            try await browser.wait(until: #"at('result').textContent.includes('+   "reminded": true')"#)
            #expect(try await browser.text("at('now').value") == "2030-05-01T00:00:00Z")
            _ = try await browser.value("at('resetNow').click()")
            try await browser.wait(until: "!at('result').textContent.includes('reminded')")
            try await browser.wait(until: #"at('result').textContent.includes('+   "seen": true')"#)
            _ = try await browser.value("at('before').focus()")
            try await browser.devTools("Input.insertText", #"{"text":"{\"_id\":\"a\",\"done\":true}"}"#)
            try await browser.wait(until: "at('result').textContent.includes('No rule fires')")
            try await browser.devTools("Input.insertText", #"{"text":"}"}"#)
            try await browser.wait(until: "at('documentError').textContent.includes('the earlier document: not JSON')")
        }
    }

    /// All controls can be reached by Tab, in the order in which they are shown, and the editor is no trap.
    @Test(arguments: editors) func pageIsUsableByKeyboard(_ hasLibrary: Bool) async throws {
        try await whileOpen(hasLibrary) { _, browser in
            _ = try await browser.value("(window.visited = [], document.body.focus(), true)")
            for _ in 0..<60 {
                try await browser.press("\u{E004}")
                _ = try await browser.value(
                    """
                    (() => {
                      const element = document.activeElement;
                      if (element === document.body || visited.includes(element)) return window.isRound = true;
                      if (!window.isRound) visited.push(element);
                      const style = getComputedStyle(element.closest(".CodeMirror") || element);
                      if (style.outlineStyle === "none") complaints.push("no outline: " + element.outerHTML.slice(0, 80));
                    })()
                    """)
            }
            let isOrdered = """
                visited.every((element, index) => index === 0
                  || visited[index - 1].compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)
                """
            #expect(try await browser.value(isOrdered).bool == true)
            let controls = """
                [...document.querySelectorAll('button, input, select, summary, textarea')].filter((element) =>
                  element.checkVisibility() && !element.disabled && !element.closest('.CodeMirror') && !visited.includes(element))
                  .map((element) => element.outerHTML.slice(0, 80)).join()
                """
            #expect(try await browser.text(controls) == "")
            #expect(try await browser.value("isRound").bool == true)
        }
    }

    @Test(.enabled(if: EditorLibrary().isInstalled)) func keysAreCompletedFromTheSchema() async throws {
        try await whileOpen(true) { _, browser in
            try await browser.type("unl", line: 5, column: 4)
            _ = try await browser.value(
                "(() => { const mirror = document.querySelector('.CodeMirror').CodeMirror; mirror.setCursor(5, 7); complete(mirror); })()"
            )
            // Regression: names that do not begin with the typed word were suggested, too.
            let hints = "[...document.querySelectorAll('.CodeMirror-hint')].map((hint) => hint.textContent).join()"
            try await browser.wait(until: "\(hints) === 'unless'")
            try await browser.press("\u{E007}")
            try await browser.wait(until: "editor.text().includes('    unless')")
        }
    }

    /// The address without its secret, as another page would know it.
    @Test func pageWithoutTokenShowsNothing() async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            try Self.rules.write(toFile: file, atomically: true, encoding: .utf8)
            try await Playground.serve(file, hasLibrary: false) { url in
                try await Browser.with { browser in
                    try await browser.open(String(url.prefix { $0 != "#" }))
                    try await browser.wait(until: "at('state').textContent.includes('has no token')")
                    #expect(try await browser.text("document.body.textContent.includes('stamp')") == "false")
                }
            }
        }
    }

    @Test func gatewayThatGoesAwayIsReported() async throws {
        try await Program.withDirectory { folder in
            try Self.rules.write(toFile: folder + "/r.yaml", atomically: true, encoding: .utf8)
            let gateway = try ChildProcess([Program.path, "gateway", "--listen", "127.0.0.1:0"])
            let gatewayURL = try #require(await gateway.readLine()?.split(separator: " ").last.map(String.init))
            let bed = CommandTestBed(url: gatewayURL, folder: folder)
            try await bed.put([#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"list"}"#])
            let playground = try await Playground.start([folder + "/r.yaml", "--gateway", gatewayURL], in: folder)
            try await Browser.with { browser in
                try await browser.open(playground.url)
                try await browser.waitForEvaluation()
                _ = try await browser.value("at('pickForm').requestSubmit()")
                try await browser.wait(until: "at('pickNote').textContent === '1 document of the gateway added'")
                try await browser.wait(until: "at('samples').textContent.includes('gateway')")
                gateway.kill()
                _ = try await browser.value("at('pickForm').requestSubmit()")
                try await browser.wait(until: "at('pickNote').textContent.includes('no documents were read: ')")
                try await browser.expectGoodLayout("playground-gateway")
                try await browser.wait(until: #"at('result').textContent.includes('+   "done": true')"#)
            }
            #expect(await playground.process.stop() == 0)
        }
    }
}

extension Browser {
    fileprivate func waitForEvaluation() async throws { try await wait(until: "document.body.dataset.evaluated > 0") }

    /// Inserts a text in the editor.
    fileprivate func type(_ text: String, line: Int, column: Int) async throws {
        _ = try await value("editor.go(\(line), \(column))")
        try await devTools("Input.insertText", #"{"text":\#(text.jsonString)}"#)
        // The editor reads it with a small delay.
        try await wait(until: "editor.text().includes(\(text.jsonString))")
    }

    /// Keeps the answers to a request back until `release()` is called.
    fileprivate func holdAnswers(_ name: String) async throws {
        _ = try await value(
            """
            (() => {
              window.isHeld = false;
              window.originalFetch ??= window.fetch;
              const released = new Promise((done) => { window.release = () => done(); });
              window.fetch = async (address, options) => {
                const answer = await originalFetch(address, options);
                if (address === '/api/\(name)') { window.isHeld = true; await released; }
                return answer;
              };
              return true;
            })()
            """)
    }

    /// Chooses a document by a text in its row.
    fileprivate func choose(_ text: String) async throws {
        _ = try await value(
            "[...document.querySelectorAll('.sample')].find((row) => row.textContent.includes(\(text.jsonString))).click()"
        )
    }

    fileprivate func expectFocus(_ id: String) async throws {
        #expect(try await self.text("document.activeElement.id") == id)
    }
}
