/** Under which the server's answers are kept. */
export const devicesKey = ['devices'] as const;
export const deviceTypesKey = ['device-types'] as const;
export const zonesKey = ['zones'] as const;
export const activityKey = (deviceId: string | null) => ['activity', deviceId] as const;
export const historyKey = (deviceId: string, capability: string) => ['history', deviceId, capability] as const;
