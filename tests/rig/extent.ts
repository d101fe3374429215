/** Set by `npm run sweep`. */
export const isSweep = process.env['STATION_SWEEP'] === 'yes';

/** How far an exploration goes: a short form in every run, the long one under `npm run sweep`. */
export const extent = <T>(short: T, long: T): T => (isSweep ? long : short);
