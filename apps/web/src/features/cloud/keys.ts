/** Everything that was read of the cloud link. */
export const cloudKey = ['cloud'];
export const cloudStatusKey = [...cloudKey, 'status'];
export const claimKey = [...cloudKey, 'claim'];
export const cloudActivityKey = [...cloudKey, 'activity'];
export const setAsideKey = [...cloudKey, 'set-aside'];
