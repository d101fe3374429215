/** Everything that was read of automations, so that one word of the station makes all of it be read anew. */
export const automationsKey = ['automations'];
export const automationKey = (id: string): readonly unknown[] => [...automationsKey, id];
export const runsKey = (id: string): readonly unknown[] => [...automationsKey, id, 'runs'];
