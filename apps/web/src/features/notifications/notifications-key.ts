export const viewKey = ['notifications'];
export const stationNotificationsKey = ['notifications', 'station'];
