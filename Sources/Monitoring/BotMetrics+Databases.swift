extension BotMetrics {
    /// The metrics of a bot that follows many databases.
    static let databaseFamilies: [MetricFamily] = [.databases, .databaseDeadLetters, .databaseSkipped]

    /// Only the worst databases have metrics with their names, so that a thousand databases don't need a thousand series.
    ///
    /// - Parameter known: The databases that have a metric. The metric of a database that needs no attention any more
    ///   becomes 0.
    /// - Returns: The databases that now have a metric.
    func set(_ databases: DatabasesView?, known: Set<String>) -> Set<String> {
        guard let databases else { return known }
        for state in DatabasesView.State.allCases {
            set(.databases, Double(databases.counts[state] ?? 0), ["state": state.rawValue])
        }
        let worst = Dictionary(databases.worst.map { ($0.name, $0) }) { first, _ in first }
        for name in known.union(worst.keys) {
            set(.databaseDeadLetters, Double(worst[name]?.deadLetters ?? 0), ["database": name])
            set(.databaseSkipped, worst[name]?.state == .skipped ? 1 : 0, ["database": name])
        }
        // Names that were once among the worst are kept, up to a limit.
        return known.count > DatabasesView.limit * 10 ? Set(worst.keys) : known.union(worst.keys)
    }
}

extension MetricFamily {
    fileprivate static let databases = MetricFamily(
        "changebot_databases", .gauge, "Databases of a bot that follows many, by state.")
    fileprivate static let databaseDeadLetters = MetricFamily(
        "changebot_database_dead_letters_open", .gauge, "Dead letters of one of the ten worst databases.")
    fileprivate static let databaseSkipped = MetricFamily(
        "changebot_database_skipped", .gauge, "1 if one of the ten worst databases can't be used.")
}
