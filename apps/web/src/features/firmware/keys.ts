/** Everything that was read of firmware; what runs where, the rollouts, and each rollout with its devices. */
export const firmwareKey = ['firmware'];
export const firmwareTypesKey = [...firmwareKey, 'types'];
export const rolloutsKey = [...firmwareKey, 'rollouts'];
export const rolloutKey = (id: string): readonly unknown[] => [...firmwareKey, 'rollout', id];
