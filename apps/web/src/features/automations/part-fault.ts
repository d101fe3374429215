import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import { numberIn, numberOf } from './options.ts';
import { deviceOf, typeOf, type Surroundings } from './surroundings.ts';

type Part = TriggerData | ConditionData | ActionData;
export type PartFault = 'nothing' | 'device' | 'number' | 'range' | 'text' | 'days' | 'delay' | 'address';

/** Longest wait (protocol, `maxDelaySeconds`). */
const longestSeconds = 7 * 24 * 3600;
const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/;

/** What keeps a part from being saved; null when it is complete. `null` is a part that nothing was chosen for yet. */
export function partFault(around: Surroundings, part: Part | null): PartFault | null {
  if (part === null) return 'nothing';
  if ('deviceId' in part.config && deviceOf(around, part.config.deviceId) === undefined) return 'device';
  const number = numberIn(part);
  if (number !== null && !Number.isFinite(number)) return 'number';
  switch (part.kind) {
    case 'schedule':
      if (part.config.days?.length === 0) return 'days';
      return part.config.cron === undefined ? timeFault(part.config.time) : textFault(part.config.cron);
    case 'time_range':
      if (part.config.days?.length === 0) return 'days';
      return timeFault(part.config.from) ?? timeFault(part.config.to);
    case 'delay': {
      const { seconds } = part.config;
      return Number.isInteger(seconds) && seconds >= 1 && seconds <= longestSeconds ? null : 'delay';
    }
    case 'notify':
      return textFault(part.config.message);
    case 'webhook':
      return /^https?:\/\//.test(part.config.url) && URL.canParse(part.config.url) ? null : 'address';
    case 'device_command': {
      const limits = numberOf(typeOf(around, part.config.deviceId), part.config.action);
      if (limits === null || number === null) return null;
      const { min, max } = limits;
      return (min !== null && number < min) || (max !== null && number > max) ? 'range' : null;
    }
    case 'device_event_received':
    case 'device_state_changed':
    case 'device_status_changed':
    case 'state_equals':
    case 'numeric_compare':
      return null;
  }
}

const timeFault = (time: string | undefined): 'text' | null => (timeOfDay.test(time ?? '') ? null : 'text');
const textFault = (text: string): 'text' | null => (text.trim() === '' ? 'text' : null);
