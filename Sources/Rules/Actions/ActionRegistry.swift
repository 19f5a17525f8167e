/// All actions, in the order in which messages list them.
enum ActionRegistry {
    static let all: [any Action.Type] = [
        AttachAction.self, DetachAction.self, MergeAction.self, PatchAction.self, ExpireAction.self, DeleteAction.self,
        PutAction.self, RelatedAction.self, EmitAction.self, WebhookAction.self, AggregateAction.self,
        ResolveAction.self,
    ]

    /// The keys of actions in a rule file.
    static let names = all.map { $0.name }

    /// The actions' names by the names that other tools use.
    static let synonyms = Dictionary(
        uniqueKeysWithValues: all.flatMap { action in action.synonyms.map { ($0, action.name) } })

    static func action(named name: String) -> (any Action.Type)? { all.first { $0.name == name } }
}
