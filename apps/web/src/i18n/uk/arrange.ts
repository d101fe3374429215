/** How home looks. */
export const arrange = {
  title: 'Вигляд сторінки «Дім»',
  done: 'Готово',
  tiles: 'Плитки в цьому браузері',
  large: 'Великі',
  largeHelp: 'З повзунками. Якщо пристроїв понад 60, плитки компактні.',
  compact: 'Компактні',
  compactHelp: 'Один рядок на пристрій.',
  zones: 'Порядок зон',
  zonesHelp: 'Однаковий для всіх. Перетягніть зону або виберіть її ручку й натискайте стрілки.',
  move: 'Перемістити {{name}}, {{position}} з {{total}}',
  moved: 'Зона {{name}} тепер {{position}} з {{total}}',
} as const;
