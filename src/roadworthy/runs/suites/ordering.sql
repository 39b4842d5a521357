-- A failure counts 1; being nearer to one than all others, or having gained coverage, counts a little.
WITH judged AS (
    SELECT requirement, "param.frame" AS frame, CAST(status != 'passed' AS INT) AS failed, {gain} AS gain,
        percent_rank() OVER (PARTITION BY requirement, system ORDER BY -margin) AS near
    FROM cases WHERE status IN ('passed', 'violated', 'error') AND "param.frame" IS NOT NULL
)
SELECT requirement, frame, count(*) AS cases,
    round(avg(failed + 0.1 * near + 0.1 * CAST(gain > 0 AS INT)), 6) AS score
FROM judged GROUP BY ALL ORDER BY ALL
