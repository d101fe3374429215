import type { ServerMessage } from '@station/protocol/socket';

/**
 * Whom a message concerns: `everyone`; `whole`: those who see the whole station; else those who see this device. A new type of message does
 * not compile before it is decided here.
 */
export type Audience = 'everyone' | 'whole' | { deviceId: string };

export function audienceOf(message: ServerMessage): Audience {
  switch (message.type) {
    case 'device_state':
    case 'device_status':
    case 'device_event':
    case 'device_command':
    case 'device_changed':
    case 'device_removed':
      return { deviceId: message.deviceId };
    case 'hello':
    case 'pong':
    case 'device_types_changed':
    case 'zones_changed':
    case 'scenes_changed':
      return 'everyone';
    case 'agent_event':
    case 'agent_link':
    case 'conditions_changed':
    case 'devices_wifi':
    case 'provisioning_candidate':
    case 'provisioning_candidate_lost':
    case 'provisioning_progress':
    case 'provisioning_radio':
    case 'firmware_rollout':
    case 'automation_run':
    case 'automation_changed':
    case 'notification':
    case 'activity_changed':
    case 'cloud_status':
      return 'whole';
  }
}
