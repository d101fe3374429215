/** What helps with the conditions of the backend; their titles are on the first page. */
export const backendCondition = {
  foreign_station_devices:
    'They use the id of another station ({{ids}}) and get no answer. If STATION_ID was changed on this station, or its database was lost, set that id again. If another station uses this broker, nothing is needed.',
  device_logins_missing:
    'The message broker has lost the logins of some devices ({{ids}}). Restore the broker’s data, or set these devices up again.',
} as const;
