/** Tiles, pages and activity of devices. */
export const devices = {
  device: {
    back: 'Головна',
    details: '{{name}}: докладно',
    sliderOf: '{{what}}, {{name}}',
    waiting: 'Чекаємо на пристрій…',
    offlineSince: 'Не на зв’язку, востаннє чути {{time}}',
    fault: 'Не вдалося прочитати пристрої',
    faulty: 'Надсилає дані, які не вдається прочитати',
    status: { online: 'на зв’язку', offline: 'не на зв’язку', unknown: 'ще не озивався' },
    refused: {
      noAnswer: 'Немає відповіді, тож невідомо, чи вийшло. Якщо ні, спробуйте ще раз.',
      notSent: 'Станція не відповіла. Спробуйте ще раз.',
      failed: 'Команда не дійшла, тож нічого не змінилося. Спробуйте ще раз.',
    },
    capability: {
      power: 'Живлення',
      brightness: 'Яскравість',
      temperature: 'Температура',
      humidity: 'Вологість',
      motion: 'Рух',
      battery: 'Батарея',
    },
    value: {
      yes: 'Так',
      no: 'Ні',
    },
    event: {
      some: 'Щось сталося',
      ota_failed: 'Прошивка не оновилася',
      type_differs: 'Повідомляє інший тип, ніж той, з яким його додано',
    },
    activity: {
      title: 'Події',
      empty: 'Ще нічого не сталося.',
      older: 'Показати давніші',
    },
  },
  activity: {
    title: 'Події',
    lead: 'Що сталося з пристроями і що повідомили сценарії.',
    removed: 'Вилучений пристрій',
  },
} as const;
