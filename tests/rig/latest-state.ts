/**
 * SQL on the file of a backend: the latest state that a device reported, as JSON text. It is in the log of reports until the table has it
 * (ADR 80). For devices whose reports are whole states.
 */
export const latestState = `coalesce((
  select json_extract(report.value, '$.state') from report_log, json_each(report_log.reports) as report
  where report_log.seq > coalesce((select seq from report_log where slot = 0), 0) and report.value ->> 'deviceId' = devices.id
  order by report_log.seq desc, report.key desc limit 1), devices.state)`;
